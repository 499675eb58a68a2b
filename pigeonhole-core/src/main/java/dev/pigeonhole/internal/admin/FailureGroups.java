package dev.pigeonhole.internal.admin;

import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.FailureGroup;
import dev.pigeonhole.store.PoisonSample;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Puts failures together that look alike. */
final class FailureGroups {

  private FailureGroups() {}

  /**
   * The groups, the largest first.
   *
   * @param newest one more than the bound if there are more
   */
  static List<FailureGroup> of(List<PoisonSample> newest, int most) {
    boolean more = newest.size() > most;
    Map<String, List<PoisonSample>> alike = new LinkedHashMap<>();
    for (PoisonSample each : more ? newest.subList(0, most) : newest) {
      alike.computeIfAbsent(each.fingerprint(), any -> new ArrayList<>()).add(each);
    }
    return alike.values().stream()
        .map(group -> group(group, more))
        .sorted(
            Comparator.<FailureGroup>comparingLong(each -> each.deliveries().value())
                .reversed()
                .thenComparing(FailureGroup::fingerprint))
        .toList();
  }

  private static FailureGroup group(List<PoisonSample> alike, boolean more) {
    Comparator<PoisonSample> byTime = Comparator.comparing(PoisonSample::at);
    PoisonSample newest = alike.stream().max(byTime).orElseThrow();
    Instant first = alike.stream().min(byTime).orElseThrow().at();
    return new FailureGroup(
        newest.fingerprint(),
        newest.type(),
        newest.text(),
        new Count(alike.size(), more),
        alike.stream().map(PoisonSample::handler).distinct().sorted().toList(),
        first,
        newest.at());
  }
}
