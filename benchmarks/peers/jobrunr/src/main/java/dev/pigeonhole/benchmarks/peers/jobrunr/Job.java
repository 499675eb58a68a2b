package dev.pigeonhole.benchmarks.peers.jobrunr;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.benchmarks.peers.Calls;
import java.util.UUID;
import org.jobrunr.scheduling.JobBuilder;

/**
 * The job of a message. JobRunr reads the byte code of the class with the lambda and calls the
 * method by its name, so that the class stands alone and its counter is static.
 */
public final class Job {

  private static volatile Calls calls = new Calls(0);

  private Job() {}

  static void countIn(Calls current) {
    calls = current;
  }

  /** JobRunr takes nothing but a UUID for an id; this one is the same for a repeat. */
  static JobBuilder of(String id, String payload) {
    return JobBuilder.aJob()
        .withId(UUID.nameUUIDFromBytes(id.getBytes(UTF_8)))
        .withDetails(() -> handle(id, payload));
  }

  public static void handle(String id, String payload) {
    calls.handled(id);
  }
}
