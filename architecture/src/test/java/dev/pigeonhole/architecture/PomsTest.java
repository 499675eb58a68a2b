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

  /**
   * All modules are installed: to work in one module alone, the modules that its tests use are
   * needed.
   */
  @Test
  void onlyPublishedModulesAreDeployed() throws IOException {
    Blueprint blueprint = Blueprint.parse(Files.readString(root.resolve("docs/architecture.md")));
    for (ModuleRow row : blueprint.modules()) {
      if (row.planned()) {
        continue;
      }
      Element project = Site.parse(root.resolve(row.name()).resolve("pom.xml"));
      String skipped = row.published() ? "" : "true";
      assertThat(property(project, "maven.install.skip")).as(row.name()).isEmpty();
      assertThat(property(project, "maven.deploy.skip")).as(row.name()).isEqualTo(skipped);
    }
  }

  /** What pages say was tested is what the build takes, by itself and with its profiles. */
  @Test
  void versionsOfSpringOnThePagesAreThoseOfTheBuild() throws IOException {
    Element parent = Site.parse(root.resolve("pom.xml"));
    Element spring6 = profile(parent, "spring-6");
    Element boot40 = profile(parent, "spring-boot-4.0");
    String spring = "spring.version";
    String boot = "spring-boot.version";

    assertThat(Files.readString(root.resolve("docs/spring.md")))
        .contains(
            "tested with %s and %s, with Hibernate %s and %s, Spring AMQP %s and %s, and Spring for Apache Kafka %s and %s."
                .formatted(
                    property(parent, spring),
                    property(spring6, spring),
                    minor(parent, "hibernate.version"),
                    minor(spring6, "hibernate.version"),
                    minor(parent, "spring-rabbit.version"),
                    minor(spring6, "spring-rabbit.version"),
                    minor(parent, "spring-kafka.version"),
                    minor(spring6, "spring-kafka.version")))
        .contains(
            "tested with %s; `./verify --full` tests it with %s as well."
                .formatted(property(parent, boot), property(boot40, boot)));
    assertThat(Files.readString(root.resolve("README.md")))
        .containsPattern(
            "\\| Spring Boot, [^|]*\\| %s, %s \\|"
                .formatted(minor(boot40, boot), minor(parent, boot)))
        .containsPattern(
            "\\| Spring Framework, [^|]*\\| %s, %s \\|"
                .formatted(minor(spring6, spring), minor(parent, spring)));
  }

  private static Element profile(Element project, String id) {
    return Site.children(project, "profiles")
        .flatMap(it -> Site.children(it, "profile"))
        .filter(it -> Site.text(it, "id").equals(id))
        .findFirst()
        .orElseThrow();
  }

  private static String minor(Element project, String name) {
    String[] parts = property(project, name).split("\\.");
    return parts[0] + "." + parts[1];
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
