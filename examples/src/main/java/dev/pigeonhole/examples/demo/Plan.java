package dev.pigeonhole.examples.demo;

import dev.pigeonhole.examples.OrderPlaced;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What is sent, what fails and what is poisonous. All of it follows from the options, so the
 * processes agree without talking, and a run with the same seed asks the same.
 */
final class Plan {

  /**
   * A handler that has failed so often is given up: by the inbox, or where it runs inline, by the
   * source.
   */
  static final int MOST_ATTEMPTS = 5;

  private static final int ORDERS_PER_CUSTOMER = 20;

  private final Options options;
  private final int customers;
  private final int poisonous;

  Plan(Options options) {
    this.options = options;
    this.customers = Math.max(1, options.messages() / ORDERS_PER_CUSTOMER);
    this.poisonous = new SplittableRandom(options.seed()).nextInt(options.messages());
  }

  /**
   * The order with this number; the numbers of a customer's orders rise in the order of sending.
   */
  OrderPlaced order(int number) {
    return new OrderPlaced(
        "order-" + number, "customer-" + customer(number), dice(number, 2).nextLong(100, 100_000));
  }

  /** The number in the name of an order. */
  static int number(String order) {
    return Integer.parseInt(order.substring("order-".length()));
  }

  int customer(int number) {
    return dice(number, 1).nextInt(customers);
  }

  /** How often the flaky handler fails on this order before it succeeds. */
  int failures(int number) {
    SplittableRandom dice = dice(number, 3);
    return dice.nextInt(100) < options.fail() ? dice.nextInt(1, 3) : 0;
  }

  /** Exactly one order can never be handled by the flaky handler. */
  boolean isPoisonous(int number) {
    return number == poisonous;
  }

  /** How many sends there are: every order once, and some a second time. */
  int sends() {
    return options.messages() + repeats();
  }

  private int repeats() {
    return (int) ((long) options.messages() * options.repeats() / 100);
  }

  /**
   * The numbers to send, in streams that may be sent side by side: all orders of a customer stand
   * in one stream, each second sending somewhere behind the first.
   */
  List<int[]> streams(int count) {
    int[] sequence = sequence();
    List<int[]> streams = new ArrayList<>();
    for (int stream = 0; stream < count; stream++) {
      int mine = stream;
      streams.add(Arrays.stream(sequence).filter(n -> customer(n) % count == mine).toArray());
    }
    return streams;
  }

  private int[] sequence() {
    record Send(double place, int number) {}
    int messages = options.messages();
    SplittableRandom dice = new SplittableRandom(options.seed() + 1);
    List<Send> sends = new ArrayList<>(sends());
    int repeatsLeft = repeats();
    for (int number = 0; number < messages; number++) {
      sends.add(new Send(number, number));
      // As many as asked for, each order with the same chance.
      if (dice.nextInt(messages - number) < repeatsLeft) {
        repeatsLeft--;
        sends.add(new Send(number + 0.5 + dice.nextDouble() * (messages - number), number));
      }
    }
    sends.sort((a, b) -> Double.compare(a.place(), b.place()));
    return sends.stream().mapToInt(Send::number).toArray();
  }

  /** The sends after which a worker is killed, ascending. */
  int[] killsAfter() {
    SplittableRandom dice = new SplittableRandom(options.seed() + 2);
    int sends = sends();
    return dice.ints(options.kill(), sends / 50, Math.max(sends * 19 / 20, sends / 50 + 1))
        .sorted()
        .toArray();
  }

  /** The confirmed messages after which a relay is killed, ascending. */
  int[] relayKillsAfter() {
    return momentsAmongMessages(options.relayKills(), new SplittableRandom(options.seed() + 5));
  }

  /** The messages in the inbox after which a worker is killed that a broker feeds, ascending. */
  int[] killsAfterArrivals() {
    return momentsAmongMessages(options.kill(), new SplittableRandom(options.seed() + 6));
  }

  /** Not among the last: something should be left to do. */
  private int[] momentsAmongMessages(int count, SplittableRandom dice) {
    int messages = options.messages();
    int last = (int) (messages * 9L / 10);
    return dice.ints(count, messages / 50, Math.max(last, messages / 50 + 1)).sorted().toArray();
  }

  private SplittableRandom dice(int number, int purpose) {
    return new SplittableRandom(options.seed() * 31 + (long) number * 0x9E3779B9L + purpose);
  }
}
