package dev.pigeonhole.examples.demo;

/** Somebody who kills processes, in a thread of its own. */
interface Kills {

  void start();

  /** How many there were so far. */
  int kills();

  /** Whether there will be no more. */
  boolean finished();
}
