package dev.pigeonhole.examples.demo;

import java.util.List;

/** Where the producer brings orders to. */
interface Intake {

  /** Brings these copies until somebody answers; one answer for each. */
  List<Answer> bring(List<Copy> batch) throws InterruptedException;
}
