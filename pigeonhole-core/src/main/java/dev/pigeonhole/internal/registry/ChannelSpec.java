package dev.pigeonhole.internal.registry;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.OnMissingId;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.transport.MessageMapper;
import java.util.List;

/**
 * A channel as it was declared.
 *
 * @param direct whether handlers run at once, without an inbox
 * @param withoutInbox whether the application's inbox requirement passes it by
 * @param mapper how what its sources receive becomes messages
 */
public record ChannelSpec(
    String name,
    boolean direct,
    boolean withoutInbox,
    OnConflict onConflict,
    Unhandled unhandled,
    OnMissingId onMissingId,
    OnPoison onPoison,
    MessageMapper mapper,
    List<TypeSpec> types) {

  /** The same for callers who get no answer but an id: what no handler would get is rejected. */
  public ChannelSpec strict() {
    return new ChannelSpec(
        name,
        direct,
        withoutInbox,
        OnConflict.REJECT,
        Unhandled.REJECT,
        onMissingId,
        onPoison,
        mapper,
        types);
  }
}
