package dev.pigeonhole.spring.boot;

import dev.pigeonhole.admin.InboxAdmin;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.springframework.beans.factory.ObjectProvider;

/**
 * An inbox or an outbox, for the endpoint and for health.
 *
 * @param kind {@code inbox} or {@code outbox}
 * @param runs of all of them
 */
record Watched(
    String kind, String name, InboxAdmin admin, Runnable wake, ObjectProvider<LatestRun> runs) {

  /** Those of one kind. */
  @FunctionalInterface
  interface Supplier {
    List<Watched> get();
  }

  static Supplier all(ObjectProvider<Supplier> kinds) {
    return () -> kinds.orderedStream().map(Supplier::get).flatMap(Collection::stream).toList();
  }

  /** Empty for one that the application starts by itself: nobody here knows whether it runs. */
  Optional<LatestRun> run() {
    return runs.stream().filter(each -> each.isOf(kind, name)).findFirst();
  }
}
