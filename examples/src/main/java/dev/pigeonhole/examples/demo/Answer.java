package dev.pigeonhole.examples.demo;

import dev.pigeonhole.Acceptance;

/** What a worker said to one message, as a letter on the wire. */
enum Answer {
  ACCEPTED('A'),
  REPEAT('R'),
  CONFLICT('C'),
  REJECTED('X');

  /** Begins a line in which a worker says that it could not do it now. */
  static final String FAILED = "failed: ";

  private final char letter;

  Answer(char letter) {
    this.letter = letter;
  }

  static Answer of(Acceptance acceptance) {
    if (acceptance instanceof Acceptance.Accepted) {
      return ACCEPTED;
    } else if (acceptance instanceof Acceptance.Repeat) {
      return REPEAT;
    } else if (acceptance instanceof Acceptance.Conflict) {
      return CONFLICT;
    }
    return REJECTED;
  }

  char letter() {
    return letter;
  }
}
