package dev.pigeonhole.architecture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.architecture.Site.Dependency;
import dev.pigeonhole.architecture.Site.Pom;
import dev.pigeonhole.architecture.Site.Unit;
import dev.pigeonhole.architecture.Site.Use;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Each rule finds the fault it exists for, and stays silent without one. */
class InspectionTest {

  private static final String TABLES =
      """
      | Module | Row | Responsibility | May depend on | Published | Status |
      |---|---|---|---|---|---|
      | `pigeonhole-bom` | – | versions | – | yes | built |
      | `pigeonhole-core` | 1 | engine | slf4j-api | yes | built |
      | `pigeonhole-jdbc` | 2 | store | core | yes | built |
      | `pigeonhole-testkit` | 2 | tests | core, assertj-core (optional) | yes | built |
      | `pigeonhole-kafka` | 2 | source | core | yes | planned |
      | `examples` | 5 | mains | any | no | built |

      | Package | Module | Holds | Audience |
      |---|---|---|---|
      | `dev.pigeonhole` | `pigeonhole-core` | words | all |
      | `dev.pigeonhole.admin` | `pigeonhole-core` | administration | operators |
      | `dev.pigeonhole.internal.prune` | `pigeonhole-core` | retention | us |
      | `dev.pigeonhole.jdbc` | `pigeonhole-jdbc` | store | all |
      | `dev.pigeonhole.testkit` | `pigeonhole-testkit` | tests | all |
      | `dev.pigeonhole.examples..` | `examples` | mains | all |

      | Classes in | Never use | Because |
      |---|---|---|
      | `dev.pigeonhole.admin` | `dev.pigeonhole.internal..` | it stands alone |
      """;

  private static final Unit INBOX = type("dev.pigeonhole", "Inbox", "pigeonhole-core");
  private static final Unit ADMIN = type("dev.pigeonhole.admin", "Admin", "pigeonhole-core");
  private static final Unit PRUNER =
      type("dev.pigeonhole.internal.prune", "Pruner", "pigeonhole-core");
  private static final Unit STORE = type("dev.pigeonhole.jdbc", "JdbcStore", "pigeonhole-jdbc");
  private static final Unit TESTKIT =
      type("dev.pigeonhole.testkit", "TestInbox", "pigeonhole-testkit");
  private static final Unit EXAMPLE = type("dev.pigeonhole.examples.first", "First", "examples");

  private static final Pom BOM =
      new Pom(
          "pigeonhole-bom",
          "pigeonhole-bom",
          List.of(),
          List.of("pigeonhole-core", "pigeonhole-jdbc", "pigeonhole-testkit"));
  private static final Pom CORE = pom("pigeonhole-core", "slf4j-api", "jspecify");
  private static final Pom JDBC = pom("pigeonhole-jdbc", "pigeonhole-core");
  private static final Pom TESTKIT_POM =
      new Pom(
          "pigeonhole-testkit",
          "pigeonhole-testkit",
          List.of(new Dependency("assertj-core", true)),
          List.of());
  private static final Pom EXAMPLES =
      new Pom(
          "examples",
          "pigeonhole-examples",
          List.of(new Dependency("pigeonhole-jdbc", false), new Dependency("HikariCP", false)),
          List.of());

  @Test
  void soundRepositoryHasNoProblems() {
    Inspection sound =
        inspect(
            poms(),
            use(STORE, INBOX),
            use(EXAMPLE, STORE),
            use(INBOX, PRUNER),
            use(TESTKIT, INBOX));

    assertThat(sound.modulesAreThoseOfTheTable()).isEmpty();
    assertThat(sound.bomListsThePublishedModules()).isEmpty();
    assertThat(sound.pomsDeclareWhatTheirRowAllows()).isEmpty();
    assertThat(sound.packagesAreThoseOfTheTable()).isEmpty();
    assertThat(sound.internalStaysInItsModule()).isEmpty();
    assertThat(sound.classesUseTheModulesTheirRowAllows()).isEmpty();
    assertThat(sound.bannedPackagesKeepApart()).isEmpty();
  }

  @Test
  void newModuleNeedsRow() {
    assertThat(inspect(poms(pom("pigeonhole-surprise"))).modulesAreThoseOfTheTable())
        .singleElement()
        .asString()
        .startsWith("Module pigeonhole-surprise has no row");
  }

  @Test
  void plannedModuleThatExistsIsFound() {
    assertThat(inspect(poms(pom("pigeonhole-kafka"))).modulesAreThoseOfTheTable())
        .singleElement()
        .asString()
        .startsWith("Module pigeonhole-kafka exists, but its row says planned");
  }

  @Test
  void builtModuleThatIsMissingIsFound() {
    assertThat(inspect(List.of(BOM, CORE, TESTKIT_POM, EXAMPLES)).modulesAreThoseOfTheTable())
        .singleElement()
        .asString()
        .startsWith("Module pigeonhole-jdbc is in the table");
  }

  @Test
  void publishedModuleMissingFromTheBomIsFound() {
    Pom bom = new Pom("pigeonhole-bom", "pigeonhole-bom", List.of(), List.of());

    assertThat(inspect(List.of(bom, CORE)).bomListsThePublishedModules()).hasSize(1);
  }

  @Test
  void undeclaredLibraryIsFound() {
    Pom core = pom("pigeonhole-core", "slf4j-api", "guava");

    assertThat(inspect(List.of(core)).pomsDeclareWhatTheirRowAllows())
        .singleElement()
        .asString()
        .startsWith("Module pigeonhole-core declares guava");
  }

  @Test
  void sisterModuleIsFoundByItsRow() {
    Pom jdbc = pom("pigeonhole-jdbc", "pigeonhole-core", "pigeonhole-testkit");

    assertThat(inspect(List.of(CORE, jdbc, TESTKIT_POM)).pomsDeclareWhatTheirRowAllows())
        .anyMatch(it -> it.contains("only lower rows are allowed"));
  }

  @Test
  void rowsHoldEvenWhereAnyDependencyIsAllowed() {
    Pom core = pom("pigeonhole-core", "pigeonhole-examples");

    assertThat(inspect(List.of(core, EXAMPLES)).pomsDeclareWhatTheirRowAllows())
        .anyMatch(it -> it.contains("(row 1) declares examples (row 5)"));
  }

  @Test
  void optionalLibraryMustBeDeclaredOptional() {
    Pom testkit = pom("pigeonhole-testkit", "assertj-core");

    assertThat(inspect(List.of(testkit)).pomsDeclareWhatTheirRowAllows())
        .singleElement()
        .asString()
        .startsWith("Module pigeonhole-testkit must declare assertj-core as optional");
  }

  @Test
  void newPackageNeedsRow() {
    Unit helper = type("dev.pigeonhole.util", "Helper", "pigeonhole-core");

    assertThat(inspect(poms(), use(INBOX, helper)).packagesAreThoseOfTheTable())
        .singleElement()
        .asString()
        .startsWith("Package dev.pigeonhole.util of module pigeonhole-core has no row");
  }

  @Test
  void packageInForeignModuleIsFound() {
    Unit intruder = type("dev.pigeonhole", "Intruder", "pigeonhole-jdbc");

    assertThat(inspect(poms(), use(intruder, INBOX)).packagesAreThoseOfTheTable())
        .singleElement()
        .asString()
        .startsWith("Package dev.pigeonhole belongs to module pigeonhole-core");
  }

  @Test
  void packageThatIsNotNullMarkedIsFound() {
    Site site = new Site(poms(), Set.of(INBOX), Set.of(), Set.of());

    assertThat(new Inspection(Blueprint.parse(TABLES), site).packagesAreThoseOfTheTable())
        .singleElement()
        .asString()
        .contains("@NullMarked");
  }

  @Test
  void internalOfAnotherModuleIsFound() {
    assertThat(inspect(poms(), use(STORE, PRUNER)).internalStaysInItsModule())
        .singleElement()
        .asString()
        .startsWith("dev.pigeonhole.jdbc.JdbcStore uses dev.pigeonhole.internal.prune.Pruner");
  }

  @Test
  void forbiddenModuleIsFoundInClasses() {
    assertThat(inspect(poms(), use(STORE, TESTKIT)).classesUseTheModulesTheirRowAllows())
        .hasSize(1);
  }

  @Test
  void administrationThatUsesTheEngineIsFound() {
    assertThat(inspect(poms(), use(ADMIN, PRUNER)).bannedPackagesKeepApart())
        .singleElement()
        .asString()
        .startsWith("dev.pigeonhole.admin.Admin uses dev.pigeonhole.internal.prune.Pruner");
  }

  @Test
  void tableThatIsMissingOrBrokenIsRefused() {
    assertThatThrownBy(() -> Blueprint.parse("# Architecture"))
        .hasMessageContaining("no table with the columns Module, May depend on");
    assertThatThrownBy(() -> Blueprint.parse(TABLES.replace("| yes | planned |", "| planned |")))
        .hasMessageContaining("5 cells under 6 columns");
    assertThatThrownBy(() -> Blueprint.parse(TABLES.replace("planned", "soon")))
        .hasMessageContaining("says 'soon'");
  }

  private static Inspection inspect(List<Pom> poms, Use... uses) {
    Set<Unit> types =
        Arrays.stream(uses)
            .flatMap(it -> Stream.of(it.from(), it.to()))
            .collect(Collectors.toSet());
    Set<String> nullMarked = types.stream().map(Unit::packageName).collect(Collectors.toSet());
    return new Inspection(Blueprint.parse(TABLES), new Site(poms, types, Set.of(uses), nullMarked));
  }

  private static List<Pom> poms(Pom... more) {
    List<Pom> poms = new ArrayList<>(List.of(BOM, CORE, JDBC, TESTKIT_POM, EXAMPLES));
    poms.addAll(List.of(more));
    return poms;
  }

  private static Pom pom(String name, String... dependencies) {
    List<Dependency> declared =
        Arrays.stream(dependencies).map(it -> new Dependency(it, false)).toList();
    return new Pom(name, name, declared, List.of());
  }

  private static Unit type(String packageName, String simpleName, String module) {
    return new Unit(packageName + "." + simpleName, packageName, module);
  }

  private static Use use(Unit from, Unit to) {
    return new Use(from, to);
  }
}
