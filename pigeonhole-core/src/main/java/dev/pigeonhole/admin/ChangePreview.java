package dev.pigeonhole.admin;

import dev.pigeonhole.MessageRef;
import java.util.List;

/**
 * What a change would choose.
 *
 * @param chosen how many, counted up to one more than the change may take
 * @param sample some of them, oldest first
 */
public record ChangePreview(Count chosen, List<MessageRef> sample) {}
