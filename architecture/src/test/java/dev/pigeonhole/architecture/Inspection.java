package dev.pigeonhole.architecture;

import dev.pigeonhole.architecture.Blueprint.ModuleRow;
import dev.pigeonhole.architecture.Site.Dependency;
import dev.pigeonhole.architecture.Site.Pom;
import dev.pigeonhole.architecture.Site.Unit;
import dev.pigeonhole.architecture.Site.Use;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Compares what is there with what the blueprint allows; each problem is one sentence. */
final class Inspection {

  private static final String WHERE = " See docs/architecture.md.";

  private final Blueprint blueprint;
  private final Site site;

  Inspection(Blueprint blueprint, Site site) {
    this.blueprint = blueprint;
    this.site = site;
  }

  List<String> modulesAreThoseOfTheTable() {
    List<String> problems = new ArrayList<>();
    for (Pom pom : site.poms()) {
      Optional<ModuleRow> row = blueprint.module(pom.name());
      if (row.isEmpty()) {
        problems.add("Module %s has no row in the module table.".formatted(pom.name()) + WHERE);
      } else if (row.get().planned()) {
        problems.add(
            "Module %s exists, but its row says planned; write built.".formatted(pom.name())
                + WHERE);
      }
    }
    Set<String> present = site.poms().stream().map(Pom::name).collect(Collectors.toSet());
    for (ModuleRow row : blueprint.modules()) {
      if (!row.planned() && !present.contains(row.name())) {
        problems.add(
            "Module %s is in the table, but not in the root pom.".formatted(row.name()) + WHERE);
      }
    }
    return problems;
  }

  List<String> bomListsThePublishedModules() {
    Set<String> published = new TreeSet<>();
    Set<String> listed = new TreeSet<>();
    for (Pom pom : site.poms()) {
      if (pom.name().equals("pigeonhole-bom")) {
        listed.addAll(pom.managed());
      } else if (blueprint.module(pom.name()).filter(ModuleRow::published).isPresent()) {
        published.add(pom.artifact());
      }
    }
    return published.equals(listed)
        ? List.of()
        : List.of("The BOM lists %s, published are %s.".formatted(listed, published));
  }

  List<String> pomsDeclareWhatTheirRowAllows() {
    List<String> problems = new ArrayList<>();
    for (Pom pom : site.poms()) {
      blueprint.module(pom.name()).ifPresent(row -> checkPom(pom, row, problems));
    }
    return problems;
  }

  private void checkPom(Pom pom, ModuleRow row, List<String> problems) {
    for (Dependency dependency : pom.dependencies()) {
      String artifact = dependency.artifact();
      moduleOf(artifact)
          .filter(target -> !below(target, row))
          .ifPresent(
              target ->
                  problems.add(
                      "Module %s (row %s) declares %s (row %s); only lower rows are allowed."
                              .formatted(row.name(), show(row), target.name(), show(target))
                          + WHERE));
      if (row.anyDependency() || artifact.equals("jspecify")) {
        continue;
      }
      Optional<Blueprint.Allowed> allowed = row.allowed(artifact);
      if (allowed.isEmpty()) {
        problems.add(
            "Module %s declares %s, which its row does not allow.".formatted(row.name(), artifact)
                + WHERE);
      } else if (allowed.get().mustBeOptional() && !dependency.optional()) {
        problems.add(
            "Module %s must declare %s as optional.".formatted(row.name(), artifact) + WHERE);
      }
    }
  }

  List<String> packagesAreThoseOfTheTable() {
    Set<String> problems = new TreeSet<>();
    for (Unit type : site.types()) {
      Optional<Blueprint.PackageRow> row = blueprint.row(type.packageName());
      if (row.isEmpty()) {
        problems.add(
            "Package %s of module %s has no row in the package table."
                    .formatted(type.packageName(), type.module())
                + WHERE);
      } else if (!row.get().module().equals(type.module())) {
        problems.add(
            "Package %s belongs to module %s, but module %s has classes in it."
                    .formatted(type.packageName(), row.get().module(), type.module())
                + WHERE);
      }
      if (!site.nullMarkedPackages().contains(type.packageName())) {
        problems.add(
            "Package %s of module %s has no package-info.java with @NullMarked, so NullAway skips it."
                .formatted(type.packageName(), type.module()));
      }
    }
    for (Blueprint.PackageRow row : blueprint.packages()) {
      if (blueprint.module(row.module()).isEmpty()) {
        problems.add(
            "Package %s belongs to module %s, which has no row in the module table."
                    .formatted(row.pattern(), row.module())
                + WHERE);
      }
    }
    return List.copyOf(problems);
  }

  List<String> internalStaysInItsModule() {
    return problems(
        use -> isInternal(use.to().packageName()) && leavesItsModule(use),
        "%s uses %s, which is internal to another module.");
  }

  List<String> classesUseTheModulesTheirRowAllows() {
    return problems(
        use -> {
          Optional<ModuleRow> from = blueprint.module(use.from().module());
          Optional<Pom> to =
              site.poms().stream().filter(it -> it.name().equals(use.to().module())).findFirst();
          return leavesItsModule(use)
              && from.isPresent()
              && to.isPresent()
              && !from.get().anyDependency()
              && from.get().allowed(to.get().artifact()).isEmpty();
        },
        "%s uses %s, whose module its row does not allow.");
  }

  List<String> bannedPackagesKeepApart() {
    List<String> problems = new ArrayList<>();
    for (Blueprint.Ban ban : blueprint.bans()) {
      problems.addAll(
          problems(
              use ->
                  Blueprint.matches(ban.from(), use.from().packageName())
                      && Blueprint.matches(ban.to(), use.to().packageName()),
              "%s uses %s, which the table of rules forbids."));
    }
    return problems;
  }

  private List<String> problems(Predicate<Use> bad, String sentence) {
    return site.uses().stream()
        .filter(bad)
        .map(it -> sentence.formatted(it.from().name(), it.to().name()) + WHERE)
        .sorted()
        .toList();
  }

  private Optional<ModuleRow> moduleOf(String artifact) {
    return site.poms().stream()
        .filter(it -> it.artifact().equals(artifact))
        .findFirst()
        .flatMap(it -> blueprint.module(it.name()));
  }

  private static boolean below(ModuleRow target, ModuleRow user) {
    return target.row().isPresent()
        && user.row().isPresent()
        && target.row().getAsInt() < user.row().getAsInt();
  }

  private static String show(ModuleRow module) {
    return module.row().isPresent() ? String.valueOf(module.row().getAsInt()) : "–";
  }

  private static boolean leavesItsModule(Use use) {
    return !use.from().module().equals(use.to().module());
  }

  private static boolean isInternal(String packageName) {
    return (packageName + ".").contains(".internal.");
  }
}
