package dev.pigeonhole;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class ErrorCodeTest {
  private static final Path DOCUMENT = Path.of("..", "docs", "errors.md");
  private static final Pattern ROW = Pattern.compile("\\| `(PH-[^`]+)` \\| (.+) \\| (.+) \\|");

  @Test
  void codesAreUniqueAndShapedAlike() {
    assertThat(ErrorCode.values()).extracting(ErrorCode::text).doesNotHaveDuplicates();
    assertThat(ErrorCode.values())
        .extracting(ErrorCode::text)
        .allMatch(text -> text.matches("PH-[A-Z]{2,3}-\\d\\d"));
  }

  @Test
  void aCodeIsShownAsPeopleLookForIt() {
    assertThat(ErrorCode.values()).allMatch(code -> code.toString().equals(code.text()));
  }

  @Test
  void aStoredCodeIsReadBack() {
    assertThat(ErrorCode.values()).allMatch(code -> ErrorCode.of(code.text()) == code);
    assertThat(ErrorCode.of("PH-FUTURE-99")).isEqualTo(ErrorCode.HANDLER_FAILED);
  }

  @Test
  void everyCodeIsDocumentedOnceAndNothingElseIs() throws IOException {
    List<String> documented = new ArrayList<>();
    for (String line : Files.readAllLines(DOCUMENT)) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        documented.add(row.group(1));
        assertThat(row.group(2)).as(line).endsWith(".").hasSizeGreaterThan(20);
        assertThat(row.group(3)).as(line).endsWith(".").hasSizeGreaterThan(10);
      } else {
        assertThat(line).as("a row that is not read").doesNotStartWith("| `");
      }
    }

    assertThat(documented)
        .containsExactlyInAnyOrderElementsOf(
            Arrays.stream(ErrorCode.values()).map(ErrorCode::text).toList());
  }

  @Test
  void anExceptionShowsItsCodeAndAConfigurationAllItsProblems() {
    assertThat(new InboxException(ErrorCode.ID_BLANK, "Blank."))
        .hasMessage("PH-ID-02: Blank.")
        .extracting(InboxException::code)
        .isEqualTo(ErrorCode.ID_BLANK);
    ConfigurationException several =
        new ConfigurationException(
            List.of(
                new ConfigurationException.Problem(ErrorCode.RANGE_INVALID, "First."),
                new ConfigurationException.Problem(ErrorCode.BEAT_INVALID, "Second.")));
    assertThat(several.code()).isEqualTo(ErrorCode.RANGE_INVALID);
    assertThat(several).hasMessage("PH-CFG-05: First.\n  and 1 more:\n  PH-CFG-01: Second.");
  }
}
