package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServicePartsTest {
  private static final String CLASSES = "service/target/classes";
  private static final String MODULE = "pigeonhole-core/target/classes";

  @TempDir Path home;

  @Test
  void aJarIsCurrentAsLongAsNobodyHasCompiledAnything() throws IOException {
    write(CLASSES + "/App.class", "one");
    write(MODULE + "/Core.class", "one");
    write("repository/other-1.0.jar", "whatever it is");
    ServiceParts parts =
        new ServiceParts(
            home.resolve(CLASSES),
            List.of(
                home.resolve(MODULE),
                home.resolve("pigeonhole-starter/target/classes"), // which has none
                home.resolve("repository/other-1.0.jar")));
    assertThat(parts.areIn(home.resolve("packed/service.jar"))).as("no jar").isFalse();

    write("packed/service.jar", "");
    assertThat(parts.areIn(home.resolve("packed/service.jar"))).as("half a jar").isFalse();

    Path jar = pack(parts);
    assertThat(parts.areIn(jar)).isTrue();
    write(MODULE + "/Core.class", "two");
    assertThat(parts.areIn(jar)).as("another module").isFalse();
    write(MODULE + "/Core.class", "one");
    assertThat(parts.areIn(jar)).isTrue();
    write(CLASSES + "/More.class", "one");
    assertThat(parts.areIn(jar)).as("one class more").isFalse();
    pack(parts);
    assertThat(parts.areIn(jar)).isTrue();
    Files.delete(home.resolve(CLASSES + "/More.class"));
    assertThat(parts.areIn(jar)).as("one class less").isFalse();
    pack(parts);
    write("repository/other-1.0.jar", "something else");
    assertThat(parts.areIn(jar)).as("another library").isFalse();
  }

  /** Beside each other, as in {@code target} of a module. */
  private Path pack(ServiceParts parts) throws IOException {
    Path packed = home.resolve("packed");
    StringBuilder names = new StringBuilder();
    for (Path each : parts.packLibraries(packed.resolve("lib"), Map.of())) {
      Path library = packed.resolve("lib").resolve(each.getFileName());
      if (!library.equals(each)) {
        Files.write(library, Files.readAllBytes(each));
      }
      names.append(names.isEmpty() ? "" : " ").append("lib/").append(each.getFileName());
    }
    return parts.pack(
        packed.resolve("service.jar"), Map.of(Attributes.Name.CLASS_PATH, names.toString()));
  }

  private void write(String path, String content) throws IOException {
    Path file = home.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, content);
  }
}
