package dev.pigeonhole.benchmarks.floor;

import java.util.Arrays;

/**
 * How far the producers have committed. Numbers are given before the commit, so one producer's
 * higher numbers may be seen before the other's lower ones: below the lowest of all producers' last
 * words nothing new can appear.
 */
final class Committed {

  private final long[] last;
  private int messages;
  private int producing;

  Committed(int producers) {
    this.last = new long[producers];
    this.producing = producers;
  }

  /** What somebody else has accepted before: nothing new can appear anywhere. */
  static Committed before() {
    Committed all = new Committed(1);
    all.end(0);
    return all;
  }

  /**
   * @param highest the highest number of what was committed
   */
  synchronized void commit(int producer, long highest, int more) {
    last[producer] = highest;
    messages += more;
    notifyAll();
  }

  synchronized void end(int producer) {
    last[producer] = Long.MAX_VALUE;
    producing--;
    notifyAll();
  }

  /** Up to this number, everything is there that ever will be. */
  synchronized long complete() {
    return Arrays.stream(last).min().orElse(0);
  }

  synchronized int messages() {
    return messages;
  }

  /** Whether nothing new can appear anywhere. */
  synchronized boolean ended() {
    return producing == 0;
  }

  /** Waits until so many messages have been committed, or all. */
  synchronized void await(int wanted) throws InterruptedException {
    while (messages < wanted && producing > 0) {
      wait();
    }
  }
}
