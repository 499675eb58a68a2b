package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.internal.dispatch.Failures;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.Faults;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Stands between the sources of a channel and what handles its messages: reads envelopes with the
 * channel's mapper, and says what an answer means for whoever has to acknowledge.
 */
final class Router implements Acceptor {
  private static final Disposition DONE = new Disposition.Done();

  private final ChannelSpec channel;
  private final UnaryOperator<Message> stamp;
  private final Function<List<Message>, List<Acceptance>> accepting;
  private final Consumer<Acceptance.Rejected> onUnreadable;

  /**
   * @param stamp of the inbox, which {@code accepting} does not give again
   * @param onUnreadable is told of envelopes that are no messages, which nobody else gets to see
   */
  Router(
      ChannelSpec channel,
      UnaryOperator<Message> stamp,
      Function<List<Message>, List<Acceptance>> accepting,
      Consumer<Acceptance.Rejected> onUnreadable) {
    this.channel = channel;
    this.stamp = stamp;
    this.accepting = accepting;
    this.onUnreadable = onUnreadable;
  }

  @Override
  public List<Disposition> accept(List<Envelope> envelopes) {
    List<Acceptance.@Nullable Rejected> unreadable = new ArrayList<>(envelopes.size());
    List<Message> messages = new ArrayList<>(envelopes.size());
    for (Envelope envelope : envelopes) {
      unreadable.add(read(envelope, messages));
    }
    Iterator<Acceptance> answers =
        (messages.isEmpty() ? List.<Acceptance>of() : accepting.apply(messages)).iterator();
    List<Disposition> dispositions = new ArrayList<>(envelopes.size());
    for (Acceptance.Rejected rejected : unreadable) {
      if (rejected != null) {
        onUnreadable.accept(rejected);
      }
      dispositions.add(disposition(rejected == null ? answers.next() : rejected));
    }
    return dispositions;
  }

  /** Adds the message of the envelope, or answers why there is none. */
  private Acceptance.@Nullable Rejected read(Envelope envelope, List<Message> messages) {
    String culprit = "mapper";
    try {
      Message message = Objects.requireNonNull(channel.mapper().toMessage(envelope), "no message");
      if (envelope.needsSource() && message.source().isEmpty()) {
        return rejected(sourceless(envelope));
      }
      culprit = "stamp";
      messages.add(Objects.requireNonNull(stamp.apply(message), "no message"));
      return null;
    } catch (StoreException e) {
      throw e; // it asks somebody who cannot say now
    } catch (InboxException e) {
      return rejected(e);
    } catch (Throwable e) {
      Faults.passOnWhatIsNoMessages(e);
      return rejected(
          new InboxException(
              ErrorCode.ENVELOPE_UNMAPPABLE,
              "The %s of channel '%s' threw %s for %s: %s. Correct the %1$s, and send it again."
                  .formatted(
                      culprit,
                      channel.name(),
                      e.getClass().getName(),
                      Names.shown(envelope.toString()),
                      Names.shown(String.valueOf(e.getMessage()))),
              e));
    }
  }

  private InboxException sourceless(Envelope envelope) {
    return new InboxException(
        ErrorCode.SOURCE_INVALID,
        ("%s names no source, and has to: several senders would share the name of channel '%s', and"
                + " their ids. Let its producer name one and the channel's mapper read it, or give"
                + " its transport a source.")
            .formatted(Names.shown(envelope.toString()), channel.name()));
  }

  private static Acceptance.Rejected rejected(InboxException e) {
    return new Acceptance.Rejected(e.code(), String.valueOf(e.getMessage()));
  }

  private Disposition disposition(Acceptance answer) {
    if (answer instanceof Acceptance.Rejected rejected) {
      return new Disposition.Refused(rejected.code(), rejected.reason());
    }
    if (answer instanceof Acceptance.Unfinished unfinished) {
      return unfinished(unfinished);
    }
    if (answer instanceof Acceptance.Conflict conflict
        && channel.onConflict() == OnConflict.REJECT) {
      return new Disposition.Refused(
          ErrorCode.ID_CONFLICT,
          ("%s: %s arrived again in channel '%s' with other content or another type, and the channel"
                  + " keeps no second copies. Find the producer that used the id twice, or set"
                  + " .onConflict(KEEP).")
              .formatted(
                  ErrorCode.ID_CONFLICT.text(),
                  Names.shown(conflict.message().toString()),
                  channel.name()));
    }
    return DONE;
  }

  /** Names a handler that decides it: one that may do better another time, if there is one. */
  private static Disposition unfinished(Acceptance.Unfinished unfinished) {
    boolean forGood = unfinished.forGood();
    Map.Entry<String, Failure> worst =
        unfinished.failures().entrySet().stream()
            .filter(each -> each.getValue().isFinal() == forGood)
            .min(Map.Entry.comparingByKey())
            .orElseThrow();
    ErrorCode code = worst.getValue().code();
    String reason =
        "%s: Handler '%s' has not finished it: %s"
            .formatted(code.text(), worst.getKey(), Failures.line(worst.getValue()));
    return forGood ? new Disposition.Refused(code, reason) : new Disposition.Later(code, reason);
  }
}
