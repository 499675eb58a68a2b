package dev.pigeonhole.internal.registry;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A key of one or several properties that an annotation names. */
final class PropertyKey implements KeyReader {
  private final List<PropertyPath> paths;
  private final boolean alsoExcepts;

  PropertyKey(Class<?> type, List<String> names, boolean alsoExcepts) {
    this.paths = names.stream().map(name -> PropertyPath.of(type, name)).toList();
    this.alsoExcepts = alsoExcepts;
  }

  @Override
  public @Nullable String read(KeySubject subject) {
    Object payload = subject.payload();
    if (payload == null) {
      return null;
    }
    List<String> parts = new ArrayList<>(paths.size());
    for (PropertyPath path : paths) {
      String part = KeyText.of(path.get(payload), path);
      if (part == null || Names.isBlank(part)) {
        return null;
      }
      parts.add(part);
    }
    return KeyText.joined(parts);
  }

  @Override
  public List<String> problems(Class<?> type) {
    List<String> problems = new ArrayList<>();
    for (PropertyPath path : paths) {
      String problem = path.problem();
      if (problem != null) {
        problems.add(problem);
      }
    }
    if (alsoExcepts) {
      problems.add(
          ("@Idempotent of %s has a key and leaves fields out: with a key the content does not"
                  + " count. Leave 'except' or 'key' out.")
              .formatted(type.getName()));
    }
    return problems;
  }
}
