package dev.pigeonhole.spring.boot;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.springframework.util.ClassUtils;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The page of all properties, from what the compiler has written about them for editors. */
final class PropertyPage {
  static final Path FILE = Path.of("../docs/spring-properties.md");

  private static final String ALL = "META-INF/spring-configuration-metadata.json";
  private static final String OF_TYPE = "META-INF/spring/configuration-metadata/%s.json";
  private static final String HEAD =
      """
      # Properties of Spring Boot

      All that can be said of Pigeonhole in the configuration of an application; what it is for stands in [Spring](spring.md#properties). A star stands for the name of an inbox or a channel, or for the key of an annotated handler. Where there is no default, the text says what holds; below `inboxes` and `handlers` it is what holds for all.

      This page is written from the metadata of the module: change the comments in `PigeonholeProperties`, and let `PropertyPageTest` write it anew.
      """;

  private PropertyPage() {}

  /** What is known of one property. */
  record Row(String name, String standard, String says) {}

  static String text() throws IOException {
    Map<String, Row> rows = rows();
    StringBuilder page = new StringBuilder(HEAD);
    String group = "";
    for (String name : KnownProperties.names()) {
      Row row = rows.get(name);
      if (row == null) {
        throw new IllegalStateException(name + " is not in the metadata");
      }
      String current = name.split("\\.", -1)[1];
      if (!current.equals(group)) {
        group = current;
        page.append("\n## `pigeonhole.%s`\n\n".formatted(group));
        page.append("| Property | Default | Says |\n|---|---|---|\n");
      }
      page.append("| `%s` | %s | %s |\n".formatted(name, row.standard(), row.says()));
    }
    return page.toString();
  }

  /** By name; those of single inboxes, handlers and channels with a star. */
  static Map<String, Row> rows() throws IOException {
    Map<String, Row> rows = new TreeMap<>();
    for (JsonNode each : properties(ALL)) {
      String type = each.path("type").asString();
      String name = each.path("name").asString();
      if (type.startsWith("java.util.Map<")) {
        String value = type.substring(type.indexOf(',') + 1, type.length() - 1).strip();
        for (JsonNode own : properties(OF_TYPE.formatted(value))) {
          add(rows, name + ".*." + own.path("name").asString(), own);
        }
      } else if (name.startsWith("pigeonhole.")) { // and not the switches of the endpoint
        add(rows, name, each);
      }
    }
    return rows;
  }

  private static void add(Map<String, Row> rows, String name, JsonNode property) {
    JsonNode standard = property.path("defaultValue");
    String says = property.path("description").asString("");
    String choice = choice(property.path("type").asString());
    rows.put(
        name,
        new Row(
            name,
            standard.isMissingNode() ? "" : "`%s`".formatted(standard.asString()),
            choice.isEmpty() ? says : says + " One of " + choice + "."));
  }

  private static String choice(String type) {
    Class<?> known =
        ClassUtils.isPresent(type, null) ? ClassUtils.resolveClassName(type, null) : Object.class;
    return known.isEnum()
        ? Arrays.stream(known.getEnumConstants())
            .map(
                each ->
                    "`%s`".formatted(each.toString().toLowerCase(Locale.ROOT).replace('_', '-')))
            .collect(Collectors.joining(", "))
        : "";
  }

  private static List<JsonNode> properties(String resource) throws IOException {
    try (InputStream in = PropertyPage.class.getClassLoader().getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException(resource + " was not written");
      }
      return JsonMapper.shared().readTree(in).path("properties").valueStream().toList();
    }
  }
}
