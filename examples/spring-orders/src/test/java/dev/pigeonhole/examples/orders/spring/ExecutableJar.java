package dev.pigeonhole.examples.orders.spring;

import dev.pigeonhole.support.ServiceParts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import org.springframework.boot.loader.tools.Library;
import org.springframework.boot.loader.tools.LibraryScope;
import org.springframework.boot.loader.tools.Repackager;

/**
 * The jar that {@code java -jar} starts. A build leaves it in {@code target}; whoever only tests
 * has none there, or one of other classes, and gets one that Spring Boot packs of the classes as
 * they are.
 */
final class ExecutableJar {
  private static final Path BUILT = Path.of("target/spring-orders.jar");
  private static final Path PACKED = Path.of("target/packed");
  private static final String VERSION = "<version>";

  private ExecutableJar() {}

  static synchronized Path current() {
    ServiceParts parts = ServiceParts.ofThisModule();
    Path jar = parts.areInBootJar(BUILT) ? BUILT : PACKED.resolve(BUILT.getFileName());
    return jar.equals(BUILT) || parts.areInBootJar(jar) ? jar : pack(parts, jar);
  }

  /** That of the project: the first one in its pom. */
  static String version() {
    try {
      String pom = Files.readString(Path.of("pom.xml"));
      return pom.substring(pom.indexOf(VERSION) + VERSION.length(), pom.indexOf("</version>"));
    } catch (IOException e) {
      throw new UncheckedIOException("Tests run where the pom is", e);
    }
  }

  /** By what the goal {@code repackage} of its plugin does it with. */
  private static Path pack(ServiceParts parts, Path jar) {
    Path plain = parts.pack(PACKED.resolve("classes.jar"), Map.of());
    List<Path> libraries =
        parts.packLibraries(
            PACKED.resolve("lib"), Map.of(Attributes.Name.IMPLEMENTATION_VERSION, version()));
    Repackager repackager = new Repackager(plain.toFile());
    repackager.setMainClass(OrdersApplication.class.getName());
    try {
      repackager.repackage(
          jar.toFile(),
          callback -> {
            for (Path each : libraries) {
              callback.library(new Library(each.toFile(), LibraryScope.RUNTIME));
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot pack " + jar, e);
    }
    return jar;
  }
}
