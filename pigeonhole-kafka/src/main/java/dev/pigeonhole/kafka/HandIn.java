package dev.pigeonhole.kafka;

import dev.pigeonhole.InboxException;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Hands a batch in and parks what is refused. It runs beside the thread of the consumer, which goes
 * on polling meanwhile: however long a store or a handler takes, the group keeps its member.
 */
final class HandIn {
  private static final Ending FINISHED = new Ending.Finished();
  private static final Ending LATER = new Ending.Later();

  private final RecordReader reader;
  private final Acceptor acceptor;
  private final @Nullable Parking parking;

  /**
   * @param parking null where refused records stop their partition
   */
  HandIn(RecordReader reader, Acceptor acceptor, @Nullable Parking parking) {
    this.reader = reader;
    this.acceptor = acceptor;
    this.parking = parking;
  }

  /**
   * What became of each, in order.
   *
   * @throws RuntimeException if the store cannot say; all of them have to be handed in again
   */
  List<Ending> run(List<Held> batch) {
    List<Disposition> dispositions = dispositions(batch);
    List<Parking.Refusal> refusals = new ArrayList<>();
    for (int i = 0; i < batch.size(); i++) {
      if (dispositions.get(i) instanceof Disposition.Refused refused) {
        refusals.add(new Parking.Refusal(batch.get(i).record(), refused));
      }
    }
    var parked = park(refusals).iterator();
    List<Ending> endings = new ArrayList<>(batch.size());
    for (Disposition disposition : dispositions) {
      if (disposition instanceof Disposition.Refused) {
        endings.add(parked.next());
      } else {
        endings.add(disposition instanceof Disposition.Later ? LATER : FINISHED);
      }
    }
    return endings;
  }

  /** In the order of the batch, whether somebody else was asked or not. */
  private List<Disposition> dispositions(List<Held> batch) {
    List<@Nullable Disposition> known = new ArrayList<>(batch.size());
    List<Envelope> envelopes = new ArrayList<>(batch.size());
    for (Held held : batch) {
      known.add(held.refused() == null ? read(held, envelopes) : held.refused());
    }
    var answers = (envelopes.isEmpty() ? List.<Disposition>of() : accept(envelopes)).iterator();
    List<Disposition> all = new ArrayList<>(batch.size());
    for (Disposition each : known) {
      all.add(each == null ? answers.next() : each);
    }
    return all;
  }

  /** Adds the envelope of the record, or answers why there is none. */
  private @Nullable Disposition read(Held held, List<Envelope> envelopes) {
    try {
      envelopes.add(reader.read(held.record()));
      return null;
    } catch (InboxException e) {
      return new Disposition.Refused(
          e.code(), e.code().text() + ": " + Objects.requireNonNullElse(e.getMessage(), ""));
    }
  }

  private List<Disposition> accept(List<Envelope> envelopes) {
    try {
      return acceptor.accept(envelopes);
    } finally {
      boolean unused = Thread.interrupted(); // a handler's; parking would fail with it
    }
  }

  private List<Ending> park(List<Parking.Refusal> refusals) {
    List<Ending> endings = new ArrayList<>(refusals.size());
    if (refusals.isEmpty()) {
      return endings;
    }
    if (parking == null) {
      refusals.forEach(each -> endings.add(new Ending.Stuck(each.why())));
      return endings;
    }
    List<KafkaPublisher.Sent> sent = parking.park(refusals);
    for (int i = 0; i < refusals.size(); i++) {
      Exception failure = sent.get(i).failure();
      endings.add(
          failure == null ? FINISHED : new Ending.ParkAgain(refusals.get(i).why(), failure));
    }
    return endings;
  }
}
