package dev.pigeonhole.examples.demo;

import dev.pigeonhole.examples.demo.Options.Mode;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Sends the orders of the plan, in several streams at once, and counts the answers. It plays the
 * broker: a send whose answer died with a worker was not answered and is not counted, it is sent
 * again; a copy that inline handlers have not finished is brought again after a rest, and given up
 * when that has been in vain too often.
 */
final class Producer {

  private static final int STREAMS = 4;

  /** Inline they are handled before they are answered: more would keep us waiting for long. */
  private static final int LARGEST_INLINE_BATCH = 16;

  private static final int LARGEST_BATCH = 64;

  /**
   * What was answered: each number once per answer. Copies that are to come again are not in it.
   *
   * @param answered the orders of which somebody said that they are stored, or finished, and those
   *     that were given up
   */
  record Tally(
      long sent, long conflicts, long rejected, BitSet answered, DeadLetters deadLetters) {}

  private final Plan plan;
  private final Options options;
  private final Intake intake;
  private final BitSet answered = new BitSet();
  private final DeadLetters deadLetters = new DeadLetters();
  private final int backlog;
  private int answeredOrders;
  private int streamsLeft = STREAMS;
  private long sent;
  private long conflicts;
  private long rejected;
  private long settledOrders;
  private long limit = Long.MAX_VALUE;

  Producer(Plan plan, Options options, Intake intake) {
    this.plan = plan;
    this.options = options;
    this.intake = intake;
    // Sending goes on for as long as handling does, so that a kill finds both under way.
    this.backlog = Math.max(1_000, options.messages() / 5);
  }

  void start() {
    List<int[]> streams = plan.streams(STREAMS);
    for (int i = 0; i < STREAMS; i++) {
      OrderStream stream = new OrderStream(streams.get(i), System::nanoTime);
      SplittableRandom dice = new SplittableRandom(options.seed() + i);
      Thread thread = new Thread(() -> send(stream, dice), "producer-" + i);
      thread.setDaemon(true);
      thread.start();
    }
  }

  private void send(OrderStream stream, SplittableRandom dice) {
    int largest = options.mode() == Mode.INLINE ? LARGEST_INLINE_BATCH : LARGEST_BATCH;
    try {
      while (!stream.isEmpty()) {
        List<Copy> batch = stream.take(dice.nextInt(1, largest + 1));
        if (batch.isEmpty()) {
          Thread.sleep(stream.rest().toMillis() + 1);
        } else {
          awaitRoom();
          count(batch, intake.bring(batch)).forEach(stream::putBack);
        }
      }
      streamEnded();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void awaitRoom() throws InterruptedException {
    while (sent >= limit || answeredOrders - settledOrders > backlog) {
      wait();
    }
  }

  /** Returns those that are to be brought again. */
  private synchronized List<Copy> count(List<Copy> batch, List<Answer> answers) {
    List<Copy> again = new ArrayList<>();
    for (int i = 0; i < answers.size(); i++) {
      Copy copy = batch.get(i);
      Answer answer = answers.get(i);
      switch (answer.kind()) {
        case BUSY -> again.add(copy);
        case UNFINISHED -> {
          if (copy.returned().returns() < Plan.MOST_ATTEMPTS) {
            again.add(copy.returned());
          } else {
            deadLetters.add(copy.order(), answer.unfinished());
            answered(copy);
          }
        }
        case CONFLICT -> {
          sent++;
          conflicts++;
        }
        case REJECTED -> {
          sent++;
          rejected++;
        }
        case ACCEPTED, REPEAT -> answered(copy);
      }
    }
    notifyAll();
    return again;
  }

  private void answered(Copy copy) {
    sent++;
    if (!answered.get(copy.order())) {
      answered.set(copy.order());
      answeredOrders++;
    }
  }

  private synchronized void streamEnded() {
    streamsLeft--;
    notifyAll();
  }

  /** Makes room: this many orders have been through all handlers. */
  synchronized void settled(long orders) {
    settledOrders = orders;
    notifyAll();
  }

  /** Holds sending back once this many answers are in, until told otherwise. */
  synchronized void limit(long sends) {
    limit = sends;
    notifyAll();
  }

  synchronized void awaitSent(long sends) throws InterruptedException {
    while (sent < sends && streamsLeft > 0) {
      wait();
    }
  }

  synchronized boolean finished() {
    return streamsLeft == 0;
  }

  synchronized long sent() {
    return sent;
  }

  /** How many deliveries were given up. */
  synchronized long givenUp() {
    return deadLetters.size();
  }

  synchronized Tally tally() {
    return new Tally(sent, conflicts, rejected, (BitSet) answered.clone(), deadLetters.copy());
  }
}
