package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The page of all properties is the metadata, and the metadata is complete. */
class PropertyPageTest {
  private static final String COMMAND =
      "mvn -pl pigeonhole-spring-boot -am test -Dtest=PropertyPageTest"
          + " -Dsurefire.failIfNoSpecifiedTests=false -Dpigeonhole.write-page=true";

  @Test
  void everyPropertyIsInTheMetadataWithADescriptionAndNoOther() throws IOException {
    assertThat(PropertyPage.rows().keySet()).isEqualTo(new TreeSet<>(KnownProperties.names()));
    assertThat(PropertyPage.rows().values())
        .allSatisfy(each -> assertThat(each.says()).as(each.name()).isNotBlank());
  }

  @Test
  void thePageIsWrittenFromTheMetadata() throws IOException {
    String page = PropertyPage.text();
    if (Boolean.getBoolean("pigeonhole.write-page")) {
      Files.writeString(PropertyPage.FILE, page);
    }
    assertThat(Files.exists(PropertyPage.FILE) ? Files.readString(PropertyPage.FILE) : "")
        .as("docs/spring-properties.md is not what the metadata says. To write it: " + COMMAND)
        .isEqualTo(page);
  }
}
