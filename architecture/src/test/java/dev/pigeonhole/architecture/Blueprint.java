package dev.pigeonhole.architecture;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;

/** What docs/architecture.md says, read from its tables. */
record Blueprint(List<ModuleRow> modules, List<PackageRow> packages, List<Ban> bans) {

  /** One row of the module table. An absent row number means that nothing of ours may be used. */
  record ModuleRow(
      String name,
      OptionalInt row,
      boolean anyDependency,
      List<Allowed> mayDependOn,
      boolean published,
      boolean planned) {

    Optional<Allowed> allowed(String artifact) {
      return mayDependOn.stream()
          .filter(it -> artifact.equals(it.name()) || artifact.equals("pigeonhole-" + it.name()))
          .findFirst();
    }
  }

  record Allowed(String name, boolean mustBeOptional) {}

  /** One row of the package table. */
  record PackageRow(String pattern, String module) {

    boolean covers(String packageName) {
      return matches(pattern, packageName);
    }
  }

  /** One row of the table of packages that keep away from each other. */
  record Ban(String from, String to) {}

  static Blueprint parse(String markdown) {
    List<Map<String, String>> moduleRows = table(markdown, "Module", "May depend on");
    List<Map<String, String>> packageRows = table(markdown, "Package", "Module");
    List<Map<String, String>> banRows = table(markdown, "Classes in", "Never use");
    return new Blueprint(
        moduleRows.stream().map(Blueprint::module).toList(),
        packageRows.stream()
            .map(it -> new PackageRow(it.get("Package"), it.get("Module")))
            .toList(),
        banRows.stream().map(it -> new Ban(it.get("Classes in"), it.get("Never use"))).toList());
  }

  Optional<ModuleRow> module(String name) {
    return modules.stream().filter(it -> it.name().equals(name)).findFirst();
  }

  /** The row of a package; an exact name wins over a pattern. */
  Optional<PackageRow> row(String packageName) {
    return Stream.concat(
            packages.stream().filter(it -> it.pattern().equals(packageName)),
            packages.stream().filter(it -> it.covers(packageName)))
        .findFirst();
  }

  static boolean matches(String pattern, String packageName) {
    if (!pattern.endsWith("..")) {
      return pattern.equals(packageName);
    }
    String root = pattern.substring(0, pattern.length() - 2);
    return packageName.equals(root) || packageName.startsWith(root + ".");
  }

  private static ModuleRow module(Map<String, String> row) {
    String allowed = row.get("May depend on");
    return new ModuleRow(
        row.get("Module"),
        row.get("Row").equals("–")
            ? OptionalInt.empty()
            : OptionalInt.of(Integer.parseInt(row.get("Row"))),
        allowed.equals("any"),
        allowed.equals("any") || allowed.equals("–") ? List.of() : allowedIn(allowed),
        oneOf(row, "Published", "yes", "no"),
        oneOf(row, "Status", "planned", "built"));
  }

  private static List<Allowed> allowedIn(String cell) {
    return Arrays.stream(cell.split(","))
        .map(String::strip)
        .map(it -> new Allowed(it.replace(" (optional)", ""), it.endsWith(" (optional)")))
        .toList();
  }

  private static boolean oneOf(Map<String, String> row, String column, String yes, String no) {
    String cell = row.get(column);
    if (!cell.equals(yes) && !cell.equals(no)) {
      throw new IllegalArgumentException(
          "Column '%s' of %s says '%s'; write '%s' or '%s'."
              .formatted(column, row.get("Module"), cell, yes, no));
    }
    return cell.equals(yes);
  }

  /** The rows of the one table whose header names all of these columns. */
  private static List<Map<String, String>> table(String markdown, String... columns) {
    List<String> header = null;
    List<Map<String, String>> rows = new ArrayList<>();
    for (String line : markdown.lines().map(String::strip).toList()) {
      if (!line.startsWith("|")) {
        if (header != null) {
          break;
        }
        continue;
      }
      List<String> cells = cells(line);
      if (header == null) {
        header = cells.containsAll(List.of(columns)) ? cells : null;
      } else if (!cells.get(0).startsWith("---")) {
        if (cells.size() != header.size()) {
          throw new IllegalArgumentException(
              "This row has %d cells under %d columns: %s"
                  .formatted(cells.size(), header.size(), line));
        }
        rows.add(zip(header, cells));
      }
    }
    if (rows.isEmpty()) {
      throw new IllegalArgumentException(
          "docs/architecture.md has no table with the columns " + String.join(", ", columns) + ".");
    }
    return rows;
  }

  private static List<String> cells(String line) {
    return Arrays.stream(line.substring(1, line.length() - 1).split("\\|"))
        .map(it -> it.replace("`", "").strip())
        .toList();
  }

  private static Map<String, String> zip(List<String> names, List<String> cells) {
    Map<String, String> row = new LinkedHashMap<>();
    for (int i = 0; i < names.size(); i++) {
      row.put(names.get(i), cells.get(i));
    }
    return row;
  }
}
