package dev.pigeonhole.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class PeerTest {

  @Test
  void theScriptBuildsEveryLibraryAndTheQuickOnesForAQuickRun() throws IOException {
    assertThat(inTheScript("LIBRARIES")).containsExactlyInAnyOrderElementsOf(libraries(false));
    assertThat(inTheScript("QUICK_LIBRARIES")).containsExactlyInAnyOrderElementsOf(libraries(true));
  }

  private static List<String> libraries(boolean quick) {
    return Peer.names(quick).stream().filter(name -> !Peer.named(name).seed()).toList();
  }

  private static List<String> inTheScript(String variable) throws IOException {
    String script = Files.readString(Path.of("..", "bench"));
    Matcher list =
        Pattern.compile("^" + variable + "=\\((.*)\\)$", Pattern.MULTILINE).matcher(script);
    assertThat(list.find()).as(variable).isTrue();
    return List.of(list.group(1).split(" "));
  }
}
