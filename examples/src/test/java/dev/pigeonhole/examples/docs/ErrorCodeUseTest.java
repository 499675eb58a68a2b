package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** An error code that nothing uses, or that no test mentions, promises what nobody has seen. */
class ErrorCodeUseTest {

  private static boolean isTest(String path) {
    return path.contains("/src/test/") || path.startsWith("pigeonhole-tck/src/main/");
  }

  private static Set<ErrorCode> unused(boolean tests) throws IOException {
    Set<ErrorCode> unused = new TreeSet<>(List.of(ErrorCode.values()));
    try (Stream<Path> files = Files.walk(Documents.ROOT)) {
      for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
        String path = Documents.ROOT.relativize(file).toString().replace('\\', '/');
        if (path.contains("/src/")
            && isTest(path) == tests
            && !path.endsWith("/dev/pigeonhole/ErrorCode.java")) {
          String text = String.join("\n", Documents.lines(file));
          unused.removeIf(code -> uses(text, code));
        }
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
  void everyCodeIsUsed() throws IOException {
    assertThat(unused(false)).isEmpty();
  }

  @Test
  void everyCodeIsMentionedByATest() throws IOException {
    assertThat(unused(true)).isEmpty();
  }
}
