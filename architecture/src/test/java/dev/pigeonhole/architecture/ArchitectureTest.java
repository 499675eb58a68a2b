package dev.pigeonhole.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** This repository against docs/architecture.md. */
class ArchitectureTest {

  private static Path root;
  private static Site site;
  private static Inspection inspection;

  @BeforeAll
  static void readTheRepository() throws IOException {
    root = Path.of("").toAbsolutePath();
    while (!Files.exists(root.resolve("docs/architecture.md"))) {
      root = root.getParent();
    }
    site = Site.read(root);
    Blueprint blueprint = Blueprint.parse(Files.readString(root.resolve("docs/architecture.md")));
    inspection = new Inspection(blueprint, site);
  }

  @Test
  void everyModuleWasCompiledBeforeThisTest() {
    assertThat(site.poms())
        .filteredOn(pom -> Files.exists(root.resolve(pom.name()).resolve("src/main/java")))
        .isNotEmpty()
        .allSatisfy(
            pom ->
                assertThat(site.types())
                    .as("classes of %s; does the pom of architecture depend on it?", pom.name())
                    .anyMatch(type -> type.module().equals(pom.name())));
  }

  @Test
  void modulesAreThoseOfTheTable() {
    assertThat(inspection.modulesAreThoseOfTheTable()).isEmpty();
  }

  @Test
  void bomListsThePublishedModules() {
    assertThat(inspection.bomListsThePublishedModules()).isEmpty();
  }

  @Test
  void pomsDeclareWhatTheirRowAllows() {
    assertThat(inspection.pomsDeclareWhatTheirRowAllows()).isEmpty();
  }

  @Test
  void packagesAreThoseOfTheTable() {
    assertThat(inspection.packagesAreThoseOfTheTable()).isEmpty();
  }

  @Test
  void internalStaysInItsModule() {
    assertThat(inspection.internalStaysInItsModule()).isEmpty();
  }

  @Test
  void classesUseTheModulesTheirRowAllows() {
    assertThat(inspection.classesUseTheModulesTheirRowAllows()).isEmpty();
  }

  @Test
  void bannedPackagesKeepApart() {
    assertThat(inspection.bannedPackagesKeepApart()).isEmpty();
  }
}
