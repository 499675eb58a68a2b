package dev.pigeonhole.admin;

import java.util.Optional;

/**
 * Who works on one lane of one handler.
 *
 * @param handler the key that was asked for
 * @param owner the name of the node that owns it; empty if nobody does
 * @param unclean whether an owner died: the next deliveries are marked, because one of them may
 *     have killed it
 */
public record LaneView(String handler, int lane, Optional<String> owner, boolean unclean) {}
