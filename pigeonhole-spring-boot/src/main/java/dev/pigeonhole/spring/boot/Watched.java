package dev.pigeonhole.spring.boot;

import dev.pigeonhole.admin.InboxAdmin;
import java.util.Collection;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.springframework.beans.factory.ObjectProvider;

/**
 * An inbox or an outbox, for the endpoint and for health.
 *
 * @param kind {@code inbox} or {@code outbox}
 * @param working whether it runs as it should; of one that was never started, true
 */
record Watched(String kind, String name, InboxAdmin admin, Runnable wake, BooleanSupplier working) {

  /** Those of one kind. */
  @FunctionalInterface
  interface Supplier {
    List<Watched> get();
  }

  static Watched of(
      String kind, String name, InboxAdmin admin, Runnable wake, ObjectProvider<LatestRun> runs) {
    BooleanSupplier working =
        () -> runs.stream().filter(each -> each.isOf(kind, name)).allMatch(LatestRun::working);
    return new Watched(kind, name, admin, wake, working);
  }

  static Supplier all(ObjectProvider<Supplier> kinds) {
    return () -> kinds.orderedStream().map(Supplier::get).flatMap(Collection::stream).toList();
  }
}
