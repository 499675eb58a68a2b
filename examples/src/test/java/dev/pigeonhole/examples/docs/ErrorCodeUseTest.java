package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** An error code that nothing uses, or that no test mentions, promises what nobody has seen. */
class ErrorCodeUseTest {

  private static Set<ErrorCode> unused(boolean tests) {
    Set<ErrorCode> unused = new TreeSet<>(List.of(ErrorCode.values()));
    for (Path file : Documents.sources()) {
      if (Documents.isTest(file) == tests && !file.endsWith("dev/pigeonhole/ErrorCode.java")) {
        String text = String.join("\n", Documents.lines(file));
        unused.removeIf(code -> uses(text, code));
      }
    }
    return unused;
  }

  private static boolean uses(String text, ErrorCode code) {
    return text.contains(code.text())
        || (text.contains(code.name())
            && Pattern.compile("\\b" + code.name() + "\\b").matcher(text).find());
  }

  @Test
  void everyCodeIsUsed() {
    assertThat(unused(false)).isEmpty();
  }

  @Test
  void everyCodeIsMentionedByATest() {
    assertThat(unused(true)).isEmpty();
  }
}
