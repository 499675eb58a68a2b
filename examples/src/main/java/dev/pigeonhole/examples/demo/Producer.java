package dev.pigeonhole.examples.demo;

import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Sends the orders of the plan, in several streams at once, and counts the answers. A send whose
 * answer died with a worker was not answered and is not counted; it is sent again.
 */
final class Producer {

  private static final int STREAMS = 4;
  private static final int LARGEST_BATCH = 64;

  /** What was answered: each number once per answer. */
  record Tally(long sent, long conflicts, long rejected) {}

  private final Plan plan;
  private final Options options;
  private final Workers workers;
  private final BitSet answered = new BitSet();
  private final int backlog;
  private int answeredOrders;
  private int streamsLeft = STREAMS;
  private long sent;
  private long conflicts;
  private long rejected;
  private long settledOrders;
  private long limit = Long.MAX_VALUE;

  Producer(Plan plan, Options options, Workers workers) {
    this.plan = plan;
    this.options = options;
    this.workers = workers;
    // Sending goes on for as long as handling does, so that a kill finds both under way.
    this.backlog = Math.max(1_000, options.messages() / 5);
  }

  void start() {
    List<int[]> streams = plan.streams(STREAMS);
    for (int i = 0; i < STREAMS; i++) {
      int[] numbers = streams.get(i);
      SplittableRandom dice = new SplittableRandom(options.seed() + i);
      Thread thread = new Thread(() -> send(numbers, dice), "producer-" + i);
      thread.setDaemon(true);
      thread.start();
    }
  }

  private void send(int[] numbers, SplittableRandom dice) {
    try {
      int next = 0;
      while (next < numbers.length) {
        int end = Math.min(numbers.length, next + dice.nextInt(1, LARGEST_BATCH + 1));
        awaitRoom();
        String request =
            IntStream.range(next, end)
                .mapToObj(i -> Integer.toString(numbers[i]))
                .collect(Collectors.joining(" "));
        String answer = workers.ask(request);
        if (answer.startsWith(Answer.FAILED)) {
          // The store could not say that it has them: they come again, as from any transport.
          Thread.sleep(100);
        } else {
          count(numbers, next, answer);
          next = end;
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

  private synchronized void count(int[] numbers, int from, String answer) {
    for (int i = 0; i < answer.length(); i++) {
      sent++;
      char letter = answer.charAt(i);
      if (letter == Answer.CONFLICT.letter()) {
        conflicts++;
      } else if (letter == Answer.REJECTED.letter()) {
        rejected++;
      } else if (!answered.get(numbers[from + i])) {
        answered.set(numbers[from + i]);
        answeredOrders++;
      }
    }
    notifyAll();
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

  synchronized Tally tally() {
    return new Tally(sent, conflicts, rejected);
  }

  /** The orders of which some worker said that they are stored. */
  synchronized BitSet answered() {
    return (BitSet) answered.clone();
  }
}
