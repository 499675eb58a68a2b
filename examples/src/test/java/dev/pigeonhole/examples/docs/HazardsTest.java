package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Every known danger has a test, or a line that says why it has none. */
class HazardsTest {
  private static final Map<String, String> NUMBERS = new LinkedHashMap<>();
  private static final Pattern NAME =
      Pattern.compile("(?:void|class) (\\w+)|DisplayName\\(\"([^\"]+)");
  private static final Pattern IN_NAME =
      Pattern.compile(
          "(?<![a-z])(dur|id|clm|pg|my|hx|jd|hd|rq|kf|op|ob|sc|e|d|input)(\\d+)(?![0-9a-z])");
  private static final Pattern IN_TEXT =
      Pattern.compile(
          "\\b(DUR|ID|CLM|PG|MY|HX|JD|HD|RQ|KF|OP|OB|SC)-(\\d\\d)\\b|\\b([DE])\\.\\d+/(\\d+)");
  private static final Pattern PROOF = Pattern.compile("`([A-Za-z]\\w{3,})`");
  private static final Pattern LONG_NAME = Pattern.compile("^[a-z]\\w*([A-Z][a-z]*){3}");
  private static final Pattern BY_NUMBER = Pattern.compile("([\\w./-]+?)_? ?…");

  private static final Set<String> names = new TreeSet<>();
  private static final Set<String> proven = new TreeSet<>();

  static {
    NUMBERS.put("DUR", "1-6,9,11,13-15");
    NUMBERS.put("ID", "1-18,20");
    NUMBERS.put("CLM", "1,2,4-27");
    NUMBERS.put("PG", "1-19,21,22");
    NUMBERS.put("MY", "1-10,12-16");
    NUMBERS.put("HX", "1-6");
    NUMBERS.put("JD", "1-11");
    NUMBERS.put("HD", "1-12");
    NUMBERS.put("RQ", "1-15");
    NUMBERS.put("KF", "1-11");
    NUMBERS.put("OP", "2-4,6,8,9,11");
    NUMBERS.put("OB", "1-7");
    NUMBERS.put("SC", "1-5,10-16,19,24,26,29,30");
    NUMBERS.put("E", "17-25,27,28,30-32");
    NUMBERS.put("D", "1-57,59-68,70-81,83-96,98-112,114,116-141,165-168,170");
  }

  @BeforeAll
  static void readTheTests() {
    for (Path file : Documents.sources()) {
      if (Documents.isTest(file)) {
        Matcher name = NAME.matcher(String.join("\n", Documents.lines(file)));
        while (name.find()) {
          String found = name.group(1) == null ? name.group(2) : name.group(1);
          names.add(found);
          collect(IN_NAME.matcher(found.replaceAll("([a-z]\\d+)[A-Z].*", "$1")), proven);
          collect(IN_TEXT.matcher(found), proven);
        }
      }
    }
  }

  private static void collect(Matcher number, Set<String> into) {
    while (number.find()) {
      boolean second = number.groupCount() > 2 && number.group(1) == null;
      String kind = number.group(second ? 3 : 1).toUpperCase(Locale.ROOT);
      int value = Integer.parseInt(number.group(second ? 4 : 2));
      into.add((kind.equals("INPUT") ? "D" : kind) + " " + value);
    }
  }

  private static Set<String> mentioned(String file) {
    Set<String> found = new TreeSet<>();
    for (String line : Documents.lines(Documents.ROOT.resolve(file))) {
      collect(IN_TEXT.matcher(line), found);
    }
    return found;
  }

  /** What stands in the section that says what is not covered, and why. */
  private static Set<String> excused() {
    Set<String> found = new TreeSet<>();
    boolean inside = false;
    for (String line : Documents.lines(Documents.ROOT.resolve("docs/guarantees.md"))) {
      inside = line.startsWith("## ") ? line.equals("## Not covered") : inside;
      if (inside) {
        collect(IN_TEXT.matcher(line), found);
      }
    }
    return found;
  }

  @Test
  void noNumberIsBothProvenAndExcused() {
    Set<String> both = new TreeSet<>(excused());
    assertThat(both).isNotEmpty();
    both.retainAll(proven);
    assertThat(both).isEmpty();
  }

  @Test
  void everyNumberIsProvenOrExcused() {
    Set<String> known = new TreeSet<>(proven);
    known.addAll(excused());
    Set<String> missing = new TreeSet<>();
    NUMBERS.forEach(
        (kind, ranges) -> {
          for (String range : ranges.split(",")) {
            String[] ends = range.split("-");
            for (int i = Integer.parseInt(ends[0]);
                i <= Integer.parseInt(ends[ends.length - 1]);
                i++) {
              if (!known.contains(kind + " " + i)) {
                missing.add(kind + " " + i);
              }
            }
          }
        });
    assertThat(missing).isEmpty();
  }

  @Test
  void everyNumberOfATestIsExplained() {
    Set<String> unexplained = new TreeSet<>(proven);
    unexplained.removeAll(mentioned("docs/hazards.md"));
    assertThat(unexplained).isEmpty();
  }

  @Test
  void everyProofByNumberExists() {
    Set<String> claimed = new TreeSet<>();
    for (String line : Documents.lines(Documents.ROOT.resolve("docs/hazards.md"))) {
      Matcher proof = BY_NUMBER.matcher(line);
      while (line.startsWith("| ") && proof.find()) {
        collect(IN_NAME.matcher(proof.group(1)), claimed);
        collect(IN_TEXT.matcher(proof.group(1)), claimed);
      }
    }
    assertThat(claimed).isNotEmpty();
    claimed.removeAll(proven);
    assertThat(claimed).isEmpty();
  }

  @Test
  void everyProofExists() {
    Set<String> missing = new TreeSet<>();
    for (String line : Documents.lines(Documents.ROOT.resolve("docs/hazards.md"))) {
      Matcher proof = PROOF.matcher(line);
      while (line.startsWith("| ") && proof.find()) {
        if (!names.contains(proof.group(1))) {
          missing.add(proof.group(1));
        }
      }
    }
    assertThat(missing).isEmpty();
  }

  /** Names of four words and more are those of tests: options and properties are shorter. */
  @Test
  void everyTestThatTheGuaranteesNameExists() {
    Set<String> named = new TreeSet<>();
    for (String line : Documents.lines(Documents.ROOT.resolve("docs/guarantees.md"))) {
      Matcher proof = PROOF.matcher(line);
      while (proof.find()) {
        if (LONG_NAME.matcher(proof.group(1)).find()) {
          named.add(proof.group(1));
        }
      }
    }
    assertThat(named).hasSizeGreaterThan(100);
    named.removeAll(names);
    assertThat(named).isEmpty();
  }

  @Test
  void everyPromiseOfAGuardAndOfInlineHandlersNamesTestsThatExist() {
    boolean inside = false;
    int promises = 0;
    Set<String> missing = new TreeSet<>();
    for (String line : Documents.lines(Documents.ROOT.resolve("docs/guarantees.md"))) {
      inside =
          line.startsWith("## ")
              ? Set.of("## Guards", "## Inline handlers").contains(line)
              : inside;
      if (inside && line.startsWith("| **")) {
        promises++;
        String proofs = line.substring(line.lastIndexOf(" | ", line.length() - 2));
        Matcher proof = PROOF.matcher(proofs);
        if (!proof.find()) {
          missing.add(line);
          continue;
        }
        do {
          if (!names.contains(proof.group(1))) {
            missing.add(proof.group(1));
          }
        } while (proof.find());
      }
    }
    assertThat(promises).isGreaterThan(20);
    assertThat(missing).isEmpty();
  }
}
