package dev.pigeonhole.examples.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The Markdown files of the repository, and the regions of code that they show. */
final class Documents {
  static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** Where code for the documentation is; what needs Spring Boot cannot be an example. */
  private static final List<String> SNIPPETS =
      List.of("examples", "pigeonhole-spring-boot-test/src/test");

  private static final Pattern BEGIN = Pattern.compile("\\s*// snippet:([\\w-]+)\\s*");
  private static final Pattern END = Pattern.compile("\\s*// end\\s*");
  private static final Pattern LINK = Pattern.compile("\\[[^\\]]*]\\(([^)\\s]+)\\)");

  private Documents() {}

  /** A fenced block: where it begins, what stands before it, and its lines. */
  record Block(String where, String language, String before, List<String> lines) {}

  /** A link as it is written. */
  record Link(Path file, String where, String target) {}

  /** Every Markdown file that a reader finds. */
  static List<Path> markdown() {
    try (Stream<Path> top = Files.list(ROOT);
        Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
      return Stream.concat(top, docs)
          .filter(file -> file.toString().endsWith(".md"))
          .sorted()
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Every Java file of the modules; not below target, where servers of other tests come and go. */
  static List<Path> sources() {
    return Stream.of(ROOT, ROOT.resolve("examples"))
        .flatMap(Documents::sourcesOfModulesIn)
        .toList();
  }

  private static Stream<Path> sourcesOfModulesIn(Path directory) {
    List<Path> sources = new ArrayList<>();
    try (Stream<Path> modules = Files.list(directory)) {
      for (Path module : modules.sorted().toList()) {
        Path source = module.resolve("src");
        if (Files.isDirectory(source)) {
          try (Stream<Path> files = Files.walk(source)) {
            files.filter(file -> file.toString().endsWith(".java")).forEach(sources::add);
          }
        }
      }
      return sources.stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether a source is a test, or a contract that stores are tested by. */
  static boolean isTest(Path source) {
    String path = ROOT.relativize(source).toString().replace('\\', '/');
    return path.contains("/src/test/") || path.startsWith("pigeonhole-tck/src/main/");
  }

  static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static List<Block> blocks(Path file) {
    List<Block> blocks = new ArrayList<>();
    List<String> lines = lines(file);
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).startsWith("```")) {
        String before = i == 0 ? "" : lines.get(i - 1);
        String where = ROOT.relativize(file) + ":" + (i + 1);
        String language = lines.get(i).substring(3).strip();
        List<String> inside = new ArrayList<>();
        for (i++; i < lines.size() && !lines.get(i).startsWith("```"); i++) {
          inside.add(lines.get(i));
        }
        blocks.add(new Block(where, language, before, inside));
      }
    }
    return blocks;
  }

  /** Lines outside of code and tables. */
  static List<String> prose(Path file) {
    List<String> prose = new ArrayList<>();
    boolean code = false;
    for (String line : lines(file)) {
      if (line.startsWith("```")) {
        code = !code;
      } else if (!code && !line.startsWith("|")) {
        prose.add(line.strip());
      }
    }
    return prose;
  }

  /** Links outside of code. */
  static List<Link> links(Path file) {
    List<Link> links = new ArrayList<>();
    boolean code = false;
    List<String> lines = lines(file);
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      if (line.startsWith("```")) {
        code = !code;
      } else if (!code) {
        Matcher link = LINK.matcher(line.replaceAll("`[^`]*`", "code"));
        while (link.find()) {
          links.add(new Link(file, ROOT.relativize(file) + ":" + (i + 1), link.group(1)));
        }
      }
    }
    return links;
  }

  /** The places in a file that a link can point to, as GitHub names them. */
  static Set<String> anchors(Path file) {
    Set<String> anchors = new TreeSet<>();
    boolean code = false;
    for (String line : lines(file)) {
      if (line.startsWith("```")) {
        code = !code;
      } else if (!code && line.startsWith("#")) {
        String title = line.replaceFirst("^#+\\s*", "").toLowerCase(Locale.ROOT);
        anchors.add(title.replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-'));
      }
    }
    return anchors;
  }

  /** Every marked region of tested code, by name, without its common indentation. */
  static TreeMap<String, List<String>> regions() {
    TreeMap<String, List<String>> regions = new TreeMap<>();
    sources().stream()
        .filter(file -> SNIPPETS.stream().anyMatch(place -> file.startsWith(ROOT.resolve(place))))
        .sorted()
        .forEach(file -> read(file, regions));
    return regions;
  }

  private static void read(Path file, TreeMap<String, List<String>> regions) {
    List<String> lines = lines(file);
    for (int i = 0; i < lines.size(); i++) {
      Matcher begin = BEGIN.matcher(lines.get(i));
      if (begin.matches()) {
        List<String> region = new ArrayList<>();
        for (i++; !END.matcher(lines.get(i)).matches(); i++) {
          region.add(lines.get(i));
        }
        if (regions.put(begin.group(1), dedented(region)) != null) {
          throw new AssertionError("Two regions are called " + begin.group(1));
        }
      }
    }
  }

  private static List<String> dedented(List<String> region) {
    List<String> lines = new ArrayList<>(region);
    while (!lines.isEmpty() && lines.get(lines.size() - 1).isBlank()) {
      lines.remove(lines.size() - 1);
    }
    int indent =
        lines.stream()
            .filter(line -> !line.isBlank())
            .mapToInt(line -> line.length() - line.stripLeading().length())
            .min()
            .orElse(0);
    return lines.stream().map(line -> line.isBlank() ? "" : line.substring(indent)).toList();
  }
}
