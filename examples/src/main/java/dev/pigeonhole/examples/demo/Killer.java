package dev.pigeonhole.examples.demo;

import java.util.SplittableRandom;

/** Kills a random worker at each of the moments that the plan names. */
final class Killer implements Kills {

  private static final int LONGEST_DELAY_MILLIS = 300;

  private final int[] moments;
  private final SplittableRandom dice;
  private final Producer producer;
  private final Workers workers;
  private volatile int kills;

  Killer(Plan plan, Options options, Producer producer, Workers workers) {
    this.moments = plan.killsAfter();
    this.dice = new SplittableRandom(options.seed() + 3);
    this.producer = producer;
    this.workers = workers;
  }

  @Override
  public void start() {
    Thread thread = new Thread(this::run, "killer");
    thread.setDaemon(true);
    thread.start();
  }

  private void run() {
    try {
      for (int i = 0; i < moments.length; i++) {
        // Sending may run on while we aim, but not past the next moment.
        producer.limit(i + 1 < moments.length ? moments[i + 1] : Long.MAX_VALUE);
        producer.awaitSent(moments[i]);
        Thread.sleep(dice.nextInt(LONGEST_DELAY_MILLIS));
        workers.killOne(dice);
        kills = i + 1;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public int kills() {
    return kills;
  }

  @Override
  public boolean finished() {
    return kills == moments.length;
  }
}
