package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Every behaviour that this version promises has a test that carries its number, as {@code b04_}.
 */
class BehavioursTest {
  /** The numbers of what is built; the others wait for their feature. */
  private static final String BUILT = "1-14,24-32,34-38,43-64,73-75,77";

  private static final Pattern TEST = Pattern.compile("void (\\w+)\\(");
  private static final Pattern NUMBER = Pattern.compile("(?<![A-Za-z0-9])b(\\d+)_");

  private static final Set<Integer> shown = new TreeSet<>();
  private static final Set<String> odd = new TreeSet<>();

  @BeforeAll
  static void readTheTests() throws IOException {
    try (Stream<Path> files = Files.walk(Documents.ROOT)) {
      for (Path file : files.filter(HazardsTest::isTest).toList()) {
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
    Set<Integer> missing = new TreeSet<>();
    for (String range : BUILT.split(",")) {
      String[] ends = range.split("-");
      for (int i = Integer.parseInt(ends[0]); i <= Integer.parseInt(ends[ends.length - 1]); i++) {
        if (!shown.contains(i)) {
          missing.add(i);
        }
      }
    }
    assertThat(missing).isEmpty();
  }

  @Test
  void numbersHaveTwoDigits() {
    assertThat(odd).isEmpty();
  }
}
