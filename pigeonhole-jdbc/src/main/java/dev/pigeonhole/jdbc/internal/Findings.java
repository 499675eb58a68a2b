package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import java.util.ArrayList;
import java.util.List;

/** What the start-up checks have found so far. */
final class Findings {
  private final List<Problem> problems = new ArrayList<>();
  private final List<String> warnings = new ArrayList<>();

  void problem(ErrorCode code, String text) {
    problems.add(new Problem(code, text));
  }

  void problemIf(boolean wrong, ErrorCode code, String text) {
    if (wrong) {
      problem(code, text);
    }
  }

  void warning(ErrorCode code, String text) {
    warnings.add(code.text() + ": " + text);
  }

  boolean has(ErrorCode code) {
    return problems.stream().anyMatch(problem -> problem.code() == code);
  }

  List<Problem> problems() {
    return problems;
  }

  List<String> warnings() {
    return warnings;
  }
}
