package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Every weakness of {@code docs/behaviours.md} names tests that exist, one of which carries its
 * number, as {@code m4_}; and no test carries such a number without standing there.
 */
class WeaknessesTest {
  private static final Map<String, Integer> LAST = Map.of("M", 10, "V", 9, "T", 16);
  private static final Pattern ROW = Pattern.compile("\\| ([MVT]\\d+) \\| .+ \\| (.+) \\|");
  private static final Pattern PROOF = Pattern.compile("`(\\w+\\.\\w+)`");
  private static final Pattern TEST = Pattern.compile("void (\\w+)\\(");
  private static final Pattern NUMBER = Pattern.compile("(?<![A-Za-z0-9])([mvt])(\\d+)_");

  /** Number → the tests that its row names. */
  private static final Map<String, Set<String>> named = new LinkedHashMap<>();

  /** Number → the tests that carry it. */
  private static final Map<String, Set<String>> carried = new TreeMap<>();

  private static final Set<String> tests = new TreeSet<>();

  @BeforeAll
  static void readThePage() {
    for (String line : Documents.lines(Documents.ROOT.resolve("docs/behaviours.md"))) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        Set<String> proofs = named.computeIfAbsent(row.group(1), number -> new TreeSet<>());
        PROOF.matcher(row.group(2)).results().forEach(proof -> proofs.add(proof.group(1)));
      }
    }
  }

  @BeforeAll
  static void readTheTests() {
    for (Path file : Documents.sources()) {
      if (Documents.isTest(file)) {
        String type = file.getFileName().toString().replace(".java", "");
        Matcher test = TEST.matcher(String.join("\n", Documents.lines(file)));
        while (test.find()) {
          read(type + "." + test.group(1), test.group(1));
        }
      }
    }
  }

  private static void read(String test, String method) {
    tests.add(test);
    Matcher number = NUMBER.matcher(method);
    while (number.find()) {
      String letter = number.group(1).toUpperCase(Locale.ROOT);
      int value = Integer.parseInt(number.group(2));
      if (value <= LAST.get(letter)) {
        carried.computeIfAbsent(letter + value, any -> new TreeSet<>()).add(test);
      }
    }
  }

  @Test
  void everyWeaknessHasARowWithATestThatCarriesItsNumber() {
    Set<String> missing = new TreeSet<>();
    LAST.forEach(
        (letter, last) -> {
          for (int i = 1; i <= last; i++) {
            String number = letter + i;
            Set<String> proofs = new TreeSet<>(named.getOrDefault(number, Set.of()));
            proofs.retainAll(carried.getOrDefault(number, Set.of()));
            if (proofs.isEmpty()) {
              missing.add(number);
            }
          }
        });
    assertThat(missing).isEmpty();
  }

  @Test
  void everyTestThatIsNamedExists() {
    Set<String> missing = new TreeSet<>();
    named.values().forEach(missing::addAll);
    missing.removeAll(tests);
    assertThat(missing).isEmpty();
  }

  @Test
  void everyTestWithSuchANumberIsNamed() {
    Set<String> missing = new TreeSet<>();
    carried.forEach(
        (number, all) ->
            all.stream()
                .filter(test -> !named.getOrDefault(number, Set.of()).contains(test))
                .forEach(test -> missing.add(number + ": " + test)));
    assertThat(missing).isEmpty();
  }
}
