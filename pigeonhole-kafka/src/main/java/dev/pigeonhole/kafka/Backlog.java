package dev.pigeonhole.kafka;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * The records that were read and are not finished. Each is in exactly one place: {@code waiting} to
 * be handed in, in the {@code job} that is being handed in on another thread, or {@code resting}
 * before it is handed in again. Its {@link Track} knows it in each of them.
 *
 * <p>When a partition is taken away, its track is gone, and with it what waits and rests; an answer
 * that comes later finds the track gone and counts for nothing. For one thread.
 */
final class Backlog {

  private record Job(List<Held> batch, Future<List<Ending>> answer) {}

  private final KafkaSource.Choices choices;
  private final HandIn handIn;
  private final ExecutorService beside;
  private final Troubles troubles;
  private final Deque<Held> waiting = new ArrayDeque<>();
  private final List<Held> resting = new ArrayList<>();
  private final Backoff backoff = new Backoff(Duration.ofMillis(200), Duration.ofSeconds(30));
  private @Nullable Job job;
  private long handInFrom = System.nanoTime();

  Backlog(KafkaSource.Choices choices, HandIn handIn, ExecutorService beside, Troubles troubles) {
    this.choices = choices;
    this.handIn = handIn;
    this.beside = beside;
    this.troubles = troubles;
  }

  void add(Held held) {
    waiting.addLast(held);
  }

  /** Whether the next batch is there, so that nothing more has to be read. */
  boolean isWaiting() {
    return !waiting.isEmpty();
  }

  boolean isHandingIn() {
    return job != null;
  }

  boolean isHandingIn(Collection<TopicPartition> partitions) {
    Job present = job;
    return present != null
        && present.batch.stream().anyMatch(it -> partitions.contains(it.track().partition()));
  }

  /** Begins to hand in what waits, unless it is too early; whether it did. */
  boolean handIn() {
    long now = System.nanoTime();
    wake(now);
    if (waiting.isEmpty() || now - handInFrom < 0) {
      return false;
    }
    List<Held> batch = new ArrayList<>();
    while (batch.size() < choices.batch && !waiting.isEmpty()) {
      batch.add(waiting.removeFirst());
    }
    job = new Job(batch, beside.submit(() -> handIn.run(batch)));
    return true;
  }

  /** Those that have rested long enough wait with the others. */
  private void wake(long now) {
    for (Iterator<Held> each = resting.iterator(); each.hasNext(); ) {
      Held held = each.next();
      if (held.waitNanos(now) <= 0) {
        each.remove();
        waiting.addLast(held);
      }
    }
  }

  /** How long there is nothing to hand in, at most this long. */
  Duration quiet(Duration atMost) {
    long now = System.nanoTime();
    long nanos = atMost.toNanos();
    for (Held held : resting) {
      nanos = Math.min(nanos, held.waitNanos(now));
    }
    if (!waiting.isEmpty() && handInFrom - now > 0) {
      nanos = Math.min(nanos, handInFrom - now);
    }
    return Duration.ofNanos(Math.max(nanos, 0));
  }

  /** Waits this long for what is being handed in, and settles it when the answer is there. */
  void awaitAnswer(Duration patience) {
    Job present = job;
    if (present == null) {
      return;
    }
    try {
      List<Ending> endings =
          present.answer.get(Math.max(0, patience.toNanos()), TimeUnit.NANOSECONDS);
      job = null;
      settle(present.batch, endings);
    } catch (TimeoutException e) {
      // It takes longer; the group hears from us meanwhile.
    } catch (ExecutionException e) {
      job = null;
      failed(present.batch, e.getCause() == null ? e : e.getCause());
    } catch (InterruptedException e) {
      // Nobody has a reason to; a stop is told otherwise.
    }
  }

  private void settle(List<Held> batch, List<Ending> endings) {
    backoff.reset();
    troubles.over("channel");
    for (int i = 0; i < batch.size(); i++) {
      Held held = batch.get(i);
      if (!held.track().isGone()) {
        settle(held, endings.get(i));
      }
    }
    if (resting.stream().allMatch(held -> held.refused() == null)) {
      troubles.over("parking");
    }
  }

  private void settle(Held held, Ending ending) {
    Track track = held.track();
    if (ending instanceof Ending.Finished) {
      track.finish(held);
    } else if (ending instanceof Ending.Later) {
      rest(held);
    } else if (ending instanceof Ending.ParkAgain again) {
      held.refuse(again.refused());
      rest(held);
      troubles.report(
          "parking",
          ErrorCode.KAFKA_NOT_PARKED,
          ("A refused record cannot be put into topic '%s': %s: %s. Create the topic with"
                  + " cleanup.policy=delete, let this user write to it, and let its"
                  + " max.message.bytes be larger than here; it is tried again.")
              .formatted(
                  choices.parkingTopic,
                  again.cause().getClass().getSimpleName(),
                  again.cause().getMessage()),
          again.cause());
    } else if (ending instanceof Ending.Stuck stuck && track.stop()) {
      troubles.report(
          track.place(),
          ErrorCode.KAFKA_NOT_PARKED,
          ("%s stands still before offset %d, which is refused, and there is nowhere to put it: %s"
                  + " Say .parkingIn(topic), or correct what refuses it, and start again.")
              .formatted(track.partition(), held.next().offset() - 1, stuck.refused().reason()),
          null);
    }
  }

  private void rest(Held held) {
    held.rest(System.nanoTime());
    resting.add(held);
  }

  /** Nobody knows what was stored: all of it again, in its place, and nothing more meanwhile. */
  private void failed(List<Held> batch, Throwable cause) {
    for (int i = batch.size() - 1; i >= 0; i--) {
      if (!batch.get(i).track().isGone()) {
        waiting.addFirst(batch.get(i));
      }
    }
    handInFrom = System.nanoTime() + backoff.next().toNanos();
    troubles.report(
        "channel",
        cause instanceof InboxException known ? known.code() : ErrorCode.KAFKA_GROUP,
        "What was read cannot be handed in now: %s: %s. Look at the store; it is tried again."
            .formatted(cause.getClass().getSimpleName(), cause.getMessage()),
        cause);
  }

  /** Forgets what belongs to somebody else now. */
  void dropGone() {
    waiting.removeIf(held -> held.track().isGone());
    resting.removeIf(held -> held.track().isGone());
  }
}
