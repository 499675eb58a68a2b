package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Every behaviour of {@code docs/behaviours.md} has a test that carries its number, as {@code
 * b04_}, and no test carries a number that is not explained there.
 */
class BehavioursTest {
  private static final Pattern ROW = Pattern.compile("\\| (\\d\\d) \\| .*");
  private static final Pattern TEST = Pattern.compile("void (\\w+)\\(");
  private static final Pattern NUMBER = Pattern.compile("(?<![A-Za-z0-9])b(\\d+)_");

  private static final Set<Integer> promised = new TreeSet<>();
  private static final Set<Integer> shown = new TreeSet<>();
  private static final Set<String> odd = new TreeSet<>();

  @BeforeAll
  static void readThePage() {
    for (String line : Documents.lines(Documents.ROOT.resolve("docs/behaviours.md"))) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        promised.add(Integer.parseInt(row.group(1)));
      }
    }
    assertThat(promised).isNotEmpty();
  }

  @BeforeAll
  static void readTheTests() {
    for (Path file : Documents.sources()) {
      if (Documents.isTest(file)) {
        Matcher test = TEST.matcher(String.join("\n", Documents.lines(file)));
        while (test.find()) {
          Matcher number = NUMBER.matcher(test.group(1));
          while (number.find()) {
            shown.add(Integer.parseInt(number.group(1)));
            if (number.group(1).length() != 2) {
              odd.add(test.group(1));
            }
          }
        }
      }
    }
  }

  @Test
  void everyBehaviourHasATestThatCarriesItsNumber() {
    Set<Integer> missing = new TreeSet<>(promised);
    missing.removeAll(shown);
    assertThat(missing).isEmpty();
  }

  @Test
  void everyNumberOfATestIsExplained() {
    Set<Integer> unexplained = new TreeSet<>(shown);
    unexplained.removeAll(promised);
    assertThat(unexplained).isEmpty();
  }

  @Test
  void numbersHaveTwoDigits() {
    assertThat(odd).isEmpty();
  }
}
