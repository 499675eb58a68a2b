package dev.pigeonhole.testkit;

import java.util.Set;
import java.util.TreeSet;

/** The crash points there are; a plan for another one would never come true. */
final class CrashPointNames {
  private static final String OF_TESTS = "test.";

  static final Set<String> ALL =
      Set.of(
          "accept.before-insert",
          "accept.in-batch",
          "accept.before-commit",
          "accept.after-commit",
          "run.before-handler",
          "run.after-handler",
          "settle.before",
          "settle.before-commit",
          "settle.after-commit",
          "failure.before-commit",
          "poison.before-commit",
          "mark.before-commit",
          "mark.after-commit",
          "tx.locked",
          "tx.work-done",
          "tx.before-commit",
          "tx.after-commit",
          "guard.entered",
          "guard.work-done",
          "guard.before-commit",
          "guard.after-commit",
          "nodes.before-beat",
          "nodes.after-beat",
          "nodes.before-take",
          "nodes.before-declare-dead",
          "nodes.after-declare-dead",
          "join.before-commit",
          "beat.before-commit",
          "take.before-commit",
          "declare-dead.before-commit",
          "retry.before-commit",
          "operation.before-commit",
          "prune.before-commit",
          "migrate.after-statement");

  private CrashPointNames() {}

  static void check(String point) {
    if (!ALL.contains(point) && !point.startsWith(OF_TESTS)) {
      throw new IllegalArgumentException(
          "There is no crash point '%s'. Take one of %s; points of your own begin with '%s'."
              .formatted(point, String.join(", ", new TreeSet<>(ALL)), OF_TESTS));
    }
  }
}
