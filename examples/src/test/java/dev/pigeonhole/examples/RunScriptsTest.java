package dev.pigeonhole.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The commands that the README names for the services. They stand in a project that is only as
 * large as they look at it; in place of Maven there is something that puts a jar where the real
 * module would, because a build takes minutes. The services themselves have tests of their own.
 */
class RunScriptsTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** In place of a service. */
  static final class Service {
    private Service() {}

    public static void main(String[] args) {
      Path here = Path.of("").toAbsolutePath().getFileName();
      System.out.println("service in " + here + " with " + List.of(args));
    }
  }

  private static final String MAVEN =
      """
      #!/usr/bin/env bash
      echo "mvn $*" >>calls
      [ -e broken ] && echo "[ERROR] it does not compile" && exit 1
      module=$(sed 's/.*-pl \\([^ ]*\\) .*/\\1/' <<<"$*")
      cp service.jar "$module/target/$(basename "$module").jar"
      """;

  @TempDir private Path project;

  @ParameterizedTest
  @ValueSource(strings = {"spring-orders", "plain-orders"})
  void aServiceIsBuiltWhenItHasToBeAndStartedWithWhatItIsTold(String service) throws Exception {
    String module = "examples/" + service;
    assertThat(Files.readString(ROOT.resolve(module).resolve("pom.xml")))
        .contains("<finalName>%s</finalName>".formatted(service));
    lay(module);
    String started = "service in %s with [--port=9090, a b]".formatted(service);

    assertThat(run(module, 0)).contains("building (once;", started);
    assertThat(calls()).singleElement().asString().contains("-pl " + module + " -am package");
    assertThat(run(module, 0)).isEqualTo(started + System.lineSeparator());
    assertThat(calls()).as("nothing has changed").hasSize(1);

    FileTime later = FileTime.from(Instant.now().plus(Duration.ofMinutes(1)));
    Files.setLastModifiedTime(project.resolve("pigeonhole-core/src/main/Engine.java"), later);
    assertThat(run(module, 0)).contains("building (once;", started);
    assertThat(calls()).as("the engine has").hasSize(2);

    Files.createFile(project.resolve("broken"));
    assertThat(run(module, 1))
        .contains("[ERROR] it does not compile", "run: the build failed")
        .doesNotContain("service in");
  }

  private void lay(String module) throws IOException {
    for (String each : List.of("pom.xml", "pigeonhole-core/pom.xml", module + "/pom.xml")) {
      write(each, "<project/>");
    }
    write("pigeonhole-core/src/main/Engine.java", "");
    write(module + "/src/main/Service.java", "");
    executable("maven/mvn", MAVEN);
    executable(module + "/run", Files.readString(ROOT.resolve(module).resolve("run")));
    write("examples/build-if-stale", Files.readString(ROOT.resolve("examples/build-if-stale")));
    pack(project.resolve("service.jar"));
  }

  private Path write(String path, String text) throws IOException {
    Path file = project.resolve(path);
    Files.createDirectories(file.getParent());
    return Files.writeString(file, text);
  }

  private void executable(String path, String text) throws IOException {
    assertThat(write(path, text).toFile().setExecutable(true)).isTrue();
  }

  private static void pack(Path jar) throws IOException {
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, Service.class.getName());
    String name = Service.class.getName().replace('.', '/') + ".class";
    try (OutputStream file = Files.newOutputStream(jar);
        JarOutputStream out = new JarOutputStream(file, manifest);
        var compiled = Service.class.getClassLoader().getResourceAsStream(name)) {
      out.putNextEntry(new JarEntry(name));
      compiled.transferTo(out);
    }
  }

  private List<String> calls() throws IOException {
    return Files.readAllLines(project.resolve("calls"));
  }

  private String run(String module, int exit) throws IOException, InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder(project.resolve(module + "/run").toString(), "--port=9090", "a b");
    Map<String, String> environment = builder.environment();
    environment.put("PATH", project.resolve("maven") + ":" + environment.get("PATH"));
    environment.put("JAVA_HOME", System.getProperty("java.home"));
    Path output = project.resolve("output");
    Process process = builder.redirectErrorStream(true).redirectOutput(output.toFile()).start();
    assertThat(process.waitFor()).as(() -> text(output)).isEqualTo(exit);
    return text(output);
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
