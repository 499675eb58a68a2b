package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.admin.InboxAdmin;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.springframework.beans.factory.ObjectProvider;

/**
 * An inbox or an outbox, for the endpoint and for health.
 *
 * @param kind {@code inbox} or {@code outbox}
 * @param bean the inbox or the outbox itself
 * @param runs of all of them
 */
record Watched(
    String kind,
    Object bean,
    String name,
    InboxAdmin admin,
    Runnable wake,
    ObjectProvider<LatestRun> runs) {

  /** Those of one kind. */
  @FunctionalInterface
  interface Supplier {
    List<Watched> get();
  }

  static Supplier all(ObjectProvider<Supplier> kinds) {
    return () -> kinds.orderedStream().map(Supplier::get).flatMap(Collection::stream).toList();
  }

  /** Health and the endpoint know them by their names. In a child context one may come twice. */
  static void refuseEqualNames(List<Watched> all) {
    List<Problem> problems = new ArrayList<>();
    Map<String, Watched> named = new HashMap<>();
    for (Watched each : all) {
      Watched first = named.putIfAbsent(each.name, each);
      if (first != null && first.bean != each.bean) {
        problems.add(
            new Problem(
                ErrorCode.BEANS_AMBIGUOUS,
                ("Two have the name '%s': an %s and an %s. Health and the endpoint could not tell"
                        + " them apart. Give one another name, with pigeonhole.inbox.name,"
                        + " pigeonhole.outbox.name or named(\"…\").")
                    .formatted(each.name, first.kind, each.kind)));
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
  }

  /** Empty for one that the application starts by itself: nobody here knows whether it runs. */
  Optional<LatestRun> run() {
    return runs.stream().filter(each -> each.isOf(kind, name)).findFirst();
  }
}
