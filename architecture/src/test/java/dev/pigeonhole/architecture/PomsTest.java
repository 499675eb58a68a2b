package dev.pigeonhole.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.architecture.Blueprint.ModuleRow;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;

/** What {@code mvn install} does, which the README tells people to run. */
class PomsTest {

  private static Path root;

  @BeforeAll
  static void findTheRepository() {
    root = Path.of("").toAbsolutePath();
    while (!Files.exists(root.resolve("docs/architecture.md"))) {
      root = root.getParent();
    }
  }

  /** The BOM has no parent, so nothing else keeps it from whatever version Maven brings along. */
  @Test
  void bomPinsEveryPluginOfItsLifecycleToTheVersionOfTheParent() throws IOException {
    Map<String, String> parent = managed(Site.parse(root.resolve("pom.xml")));
    Map<String, String> bom = managed(Site.parse(root.resolve("pigeonhole-bom/pom.xml")));

    assertThat(bom)
        .containsKeys(
            "maven-clean-plugin",
            "maven-install-plugin",
            "maven-deploy-plugin",
            "maven-site-plugin");
    assertThat(parent).containsAllEntriesOf(bom);
  }

  @Test
  void onlyPublishedModulesAreInstalledAndDeployed() throws IOException {
    Blueprint blueprint = Blueprint.parse(Files.readString(root.resolve("docs/architecture.md")));
    for (ModuleRow row : blueprint.modules()) {
      if (row.planned()) {
        continue;
      }
      Element project = Site.parse(root.resolve(row.name()).resolve("pom.xml"));
      String skipped = row.published() ? "" : "true";
      assertThat(property(project, "maven.install.skip")).as(row.name()).isEqualTo(skipped);
      assertThat(property(project, "maven.deploy.skip")).as(row.name()).isEqualTo(skipped);
    }
  }

  private static String property(Element project, String name) {
    return Site.children(project, "properties")
        .map(it -> Site.text(it, name))
        .findFirst()
        .orElse("");
  }

  private static Map<String, String> managed(Element project) {
    Map<String, String> versions = new TreeMap<>();
    Site.children(project, "build")
        .flatMap(it -> Site.children(it, "pluginManagement"))
        .flatMap(it -> Site.children(it, "plugins"))
        .flatMap(it -> Site.children(it, "plugin"))
        .forEach(it -> versions.put(Site.text(it, "artifactId"), Site.text(it, "version")));
    return versions;
  }
}
