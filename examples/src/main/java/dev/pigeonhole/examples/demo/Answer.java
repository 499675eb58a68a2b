package dev.pigeonhole.examples.demo;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ErrorCode;
import java.util.List;

/**
 * What a worker said to one copy of an order, as a word on the wire.
 *
 * @param unfinished the keys of the handlers that failed, where {@link Kind#UNFINISHED} says so
 */
record Answer(Kind kind, List<String> unfinished) {

  /** Begins a line in which a worker says that it could not do it now. */
  static final String FAILED = "failed: ";

  /** Each has its letter. */
  enum Kind {
    ACCEPTED('A'),
    REPEAT('R'),
    CONFLICT('C'),
    REJECTED('X'),
    /** Some inline handlers failed: it has to come again. */
    UNFINISHED('U'),
    /** Another copy is still under way: it has to come again, and nothing has failed. */
    BUSY('B');

    private final char letter;

    Kind(char letter) {
      this.letter = letter;
    }

    private static Kind of(char letter) {
      for (Kind kind : values()) {
        if (kind.letter == letter) {
          return kind;
        }
      }
      throw new IllegalArgumentException("no answer begins with " + letter);
    }
  }

  static Answer of(Acceptance acceptance) {
    if (acceptance instanceof Acceptance.Unfinished unfinished) {
      List<String> failed =
          unfinished.failures().entrySet().stream()
              .filter(failure -> failure.getValue().code() != ErrorCode.GUARD_BUSY)
              .map(failure -> failure.getKey())
              .sorted()
              .toList();
      return new Answer(failed.isEmpty() ? Kind.BUSY : Kind.UNFINISHED, failed);
    }
    return new Answer(kind(acceptance), List.of());
  }

  private static Kind kind(Acceptance acceptance) {
    if (acceptance instanceof Acceptance.Accepted) {
      return Kind.ACCEPTED;
    } else if (acceptance instanceof Acceptance.Repeat) {
      return Kind.REPEAT;
    } else if (acceptance instanceof Acceptance.Conflict) {
      return Kind.CONFLICT;
    }
    return Kind.REJECTED;
  }

  String toWord() {
    return kind.letter + String.join(",", unfinished);
  }

  static Answer ofWord(String word) {
    String keys = word.substring(1);
    return new Answer(
        Kind.of(word.charAt(0)), keys.isEmpty() ? List.of() : List.of(keys.split(",")));
  }
}
