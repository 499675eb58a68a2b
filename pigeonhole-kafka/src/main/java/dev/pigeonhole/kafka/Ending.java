package dev.pigeonhole.kafka;

import dev.pigeonhole.transport.Disposition;

/** What became of a record that was handed in. */
sealed interface Ending {

  /** The watermark may pass it: it is taken, or parked. */
  record Finished() implements Ending {}

  /** It is to be handed in again. */
  record Later() implements Ending {}

  /**
   * It is refused, and could not be parked now.
   *
   * @param cause what the broker or the client said
   */
  record ParkAgain(Disposition.Refused refused, Exception cause) implements Ending {}

  /** It is refused, and there is nowhere to park it. */
  record Stuck(Disposition.Refused refused) implements Ending {}
}
