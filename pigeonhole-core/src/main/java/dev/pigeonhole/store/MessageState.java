package dev.pigeonhole.store;

import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.MessageDetail;
import dev.pigeonhole.admin.MessageView;
import java.util.List;

/** All that a store knows of a message. */
public record MessageState(
    MessageView view,
    StoredMessage message,
    int lane,
    List<MessageDetail.Delivery> deliveries,
    List<ConflictView> conflicts) {}
