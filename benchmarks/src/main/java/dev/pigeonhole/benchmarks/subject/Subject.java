package dev.pigeonhole.benchmarks.subject;

import java.util.Set;

/**
 * Something that takes messages in and handles them: Pigeonhole, bare SQL, or a peer. It lives in a
 * process and on a class path of its own, which stay for all rounds, so that everybody is measured
 * warm.
 */
public interface Subject {

  /** What a repeat is to it, and how long it remembers, in one sentence. */
  String dedup();

  /** How often what a handler writes takes effect, in a few words. */
  String effects();

  /** What it was set to, for people who want to check that it was treated well. */
  String settings();

  /** The scenarios it takes part in. */
  Set<String> scenarios();

  /** Makes its tables in the schema of the run, which is empty. Not measured. */
  void prepare(Run run) throws Exception;

  /**
   * Does the work between {@link Run#begin} and {@link Run#end}, and returns with all its
   * connections and threads gone. The work has ended when the last completion is durable, not when
   * the last handler has returned.
   *
   * @return how many messages are completed, read from its own tables
   */
  long work(Run run) throws Exception;
}
