package dev.pigeonhole.testkit;

import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.MessageFilter;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.PoisonSample;
import dev.pigeonhole.store.Slice;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Deliveries and messages by what they have in common; inside a commit of the tables. */
final class MemoryLists {
  private final Tables tables;
  private final MemoryAdmin admin;

  MemoryLists(Tables tables, MemoryAdmin admin) {
    this.tables = tables;
    this.admin = admin;
  }

  List<Listed<DeliveryView>> deliveries(DeliveryFilter filter, Slice slice) {
    return slice(matching(filter), slice).stream()
        .map(each -> new Listed<>(each.place(), MemoryAdmin.withoutStack(each.view())))
        .toList();
  }

  long count(DeliveryFilter filter, int most) {
    return Math.min(most, matching(filter).count());
  }

  private Stream<Listed<DeliveryView>> matching(DeliveryFilter filter) {
    List<Listed<DeliveryView>> found = new ArrayList<>();
    for (MessageRow row : tables.messages.values()) {
      if (matches(row, filter)) {
        for (int family : row.families()) {
          admin
              .find(row, family)
              .filter(view -> matches(row, family, view, filter))
              .ifPresent(view -> found.add(new Listed<>(new Place(row.seq(), family), view)));
        }
      }
    }
    return found.stream();
  }

  private static boolean matches(MessageRow row, DeliveryFilter filter) {
    MessageView view = row.view();
    return same(filter.type(), view.type())
        && same(filter.channel(), view.channel())
        && same(filter.source(), view.message().source())
        && same(filter.id(), view.message().id())
        && within(view.receivedAt(), filter.receivedFrom(), filter.receivedBefore());
  }

  private boolean matches(MessageRow row, int family, DeliveryView view, DeliveryFilter filter) {
    Set<Integer> handlers = filter.handlers();
    String fingerprint = filter.fingerprint();
    return filter.states().contains(view.state())
        && (handlers == null || handlers.contains(family))
        && (fingerprint == null || failedLike(row, family, view, fingerprint));
  }

  /** What is poisoned is known by what poisoned it, the others by whatever they failed with. */
  private boolean failedLike(MessageRow row, int family, DeliveryView view, String fingerprint) {
    return view.state() == DeliveryState.POISONED
        ? view.lastFailure().filter(last -> last.fingerprint().equals(fingerprint)).isPresent()
        : tables.failures(new Tables.RowKey(row.seq(), family)).stream()
            .anyMatch(each -> each.fingerprint().equals(fingerprint));
  }

  List<PoisonSample> failures(DeliveryFilter filter, int most) {
    return slice(matching(filter), new Slice(null, false, most)).stream()
        .map(Listed::view)
        .flatMap(
            view ->
                view.lastFailure().stream()
                    .map(
                        failure ->
                            new PoisonSample(
                                failure.fingerprint(),
                                failure.type(),
                                failure.message(),
                                view.handler(),
                                view.ended().orElse(failure.at()))))
        .toList();
  }

  List<Listed<MessageView>> messages(MessageFilter filter, Slice slice) {
    return slice(matching(filter), slice);
  }

  long count(MessageFilter filter, int most) {
    return Math.min(most, matching(filter).count());
  }

  private Stream<Listed<MessageView>> matching(MessageFilter filter) {
    return tables.messages.values().stream()
        .filter(row -> !filter.unhandled() || row.families().isEmpty())
        .filter(row -> matches(row.view(), filter))
        .map(row -> new Listed<>(new Place(row.seq(), 0), row.view()));
  }

  private static boolean matches(MessageView view, MessageFilter filter) {
    return same(filter.type(), view.type())
        && same(filter.channel(), view.channel())
        && same(filter.source(), view.message().source())
        && same(filter.id(), view.message().id())
        && within(view.receivedAt(), filter.receivedFrom(), filter.receivedBefore());
  }

  private static <T> List<Listed<T>> slice(Stream<Listed<T>> all, Slice slice) {
    Comparator<Place> order =
        slice.oldestFirst() ? Comparator.naturalOrder() : Comparator.reverseOrder();
    Place after = slice.after();
    return all.filter(each -> after == null || order.compare(each.place(), after) > 0)
        .sorted((one, other) -> order.compare(one.place(), other.place()))
        .limit(slice.limit())
        .toList();
  }

  private static boolean same(@Nullable String wanted, String is) {
    return wanted == null || wanted.equals(is);
  }

  private static boolean within(Instant time, @Nullable Instant from, @Nullable Instant before) {
    return (from == null || !time.isBefore(from)) && (before == null || time.isBefore(before));
  }
}
