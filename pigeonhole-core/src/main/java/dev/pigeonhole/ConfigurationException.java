package dev.pigeonhole;

import java.util.List;
import java.util.stream.Collectors;

/** The application is set up wrongly and refuses to start. Holds every problem found. */
public final class ConfigurationException extends InboxException {
  private static final long serialVersionUID = 1L;

  /**
   * One thing that is wrong.
   *
   * @param text what is wrong, where, and the way out
   */
  public record Problem(ErrorCode code, String text) {
    @Override
    public String toString() {
      return code.text() + ": " + text;
    }
  }

  private final transient List<Problem> problems;

  /** With every problem, at least one; the first one's code stands for all. */
  public ConfigurationException(List<Problem> problems) {
    super(problems.get(0).code(), describe(problems));
    this.problems = List.copyOf(problems);
  }

  /** With a single problem. */
  public ConfigurationException(ErrorCode code, String text) {
    this(List.of(new Problem(code, text)));
  }

  /** Everything that is wrong, in the order it was found. */
  public List<Problem> problems() {
    return problems;
  }

  private static String describe(List<Problem> problems) {
    if (problems.size() == 1) {
      return problems.get(0).text();
    }
    return problems.get(0).text()
        + problems.stream()
            .skip(1)
            .map(problem -> "\n  " + problem)
            .collect(Collectors.joining("", "\n  and " + (problems.size() - 1) + " more:", ""));
  }
}
