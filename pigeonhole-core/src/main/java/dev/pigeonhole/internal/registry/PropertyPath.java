package dev.pigeonhole.internal.registry;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The way to a property, such as {@code order.id}: looked up once, read often. */
final class PropertyPath {
  private final Class<?> root;
  private final String path;
  private final List<Property> steps;
  private final @Nullable String problem;

  private PropertyPath(Class<?> root, String path, List<Property> steps, @Nullable String problem) {
    this.root = root;
    this.path = path;
    this.steps = steps;
    this.problem = problem;
  }

  static PropertyPath of(Class<?> root, String path) {
    List<Property> steps = new ArrayList<>();
    Class<?> at = root;
    for (String name : path.split("\\.", -1)) {
      Property step = Property.find(at, name);
      if (step == null) {
        return new PropertyPath(root, path, steps, missing(root, path, at, name));
      }
      if (!step.isReadable()) {
        String closed =
            ("The key '%s' of %s cannot be read: %s does not open '%s'. Make class and property"
                    + " public, or open the package to dev.pigeonhole.")
                .formatted(Names.shown(path), root.getName(), at.getName(), step.name());
        return new PropertyPath(root, path, steps, closed);
      }
      steps.add(step);
      at = step.type();
    }
    String unusable =
        KeyText.mayBe(at)
            ? null
            : ("The key '%s' of %s is a %s, which cannot be a key. Name a text, a number, a boolean,"
                    + " an enum, a UUID, a URI or a time in it, or select the key with .keyedBy(…).")
                .formatted(Names.shown(path), root.getName(), at.getTypeName());
    return new PropertyPath(root, path, steps, unusable);
  }

  private static String missing(Class<?> root, String path, Class<?> at, String name) {
    List<String> known = Property.names(at);
    return "The key '%s' of %s does not exist: %s has no property '%s'.%s"
        .formatted(
            Names.shown(path),
            root.getName(),
            at.getTypeName(),
            Names.shown(name),
            known.isEmpty() ? " Correct it." : " It has: " + String.join(", ", known) + ".");
  }

  /** Why it leads nowhere; null for one that can be read. */
  @Nullable String problem() {
    return problem;
  }

  /** The value; null where it or something on the way is null. */
  @Nullable Object get(Object payload) {
    Object at = payload;
    for (Property step : steps) {
      if (at == null) {
        return null;
      }
      at = step.get(at);
    }
    return at;
  }

  @Override
  public String toString() {
    return "The key '%s' of %s".formatted(Names.shown(path), root.getName());
  }
}
