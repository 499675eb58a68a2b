package dev.pigeonhole.jdbc;

import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.EditedContent;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.MessageFilter;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Slice;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Somebody who does everything that operators can do, to whatever is there, and counts it. */
final class StressedOperator {
  private static final String ACTOR = "ada";
  private static final String REASON = "why not";
  private static final DeliveryFilter POISONED =
      new DeliveryFilter(
          EnumSet.of(DeliveryState.POISONED), null, null, null, null, null, null, null, null);
  private static final MessageFilter ANY =
      new MessageFilter(false, null, null, null, null, null, null);
  private static final AtomicInteger OPERATIONS = new AtomicInteger();

  final AtomicLong edited = new AtomicLong();
  final AtomicLong replayed = new AtomicLong();
  final AtomicLong dismissed = new AtomicLong();

  /** What steps have changed. */
  final Map<Action, AtomicLong> changed = new EnumMap<>(Action.class);

  private final Rig rig;
  private final AdminQueries admin;
  private final int ids;

  StressedOperator(Rig rig, int ids) {
    this.rig = rig;
    this.admin = rig.store.admin();
    this.ids = ids;
    for (Action each : Action.values()) {
      changed.put(each, new AtomicLong());
    }
  }

  /** Revives or ends a few poisoned deliveries, one by one. */
  void dealWithPoison(Random random) {
    for (DeliveryView view : admin.poisoned(null, 3)) {
      String source = view.message().source();
      String id = view.message().id();
      int family = view.handler().equals("a") ? rig.a.family() : rig.b.family();
      switch (random.nextInt(4)) {
        case 0 -> {
          EditedContent other =
              new EditedContent("mended".getBytes(StandardCharsets.UTF_8), new byte[16]);
          if (admin.edit(source, id, family, other, ACTOR, REASON)) {
            edited.incrementAndGet();
          }
        }
        case 1 -> admin.end(source, id, family, random.nextBoolean(), ACTOR, REASON);
        default -> admin.retry(source, id, family, ACTOR, REASON);
      }
    }
  }

  void dismissConflicts() {
    for (ConflictView each : admin.conflicts(5)) {
      if (admin.dismissConflict(each.conflict(), ACTOR, REASON)) {
        dismissed.incrementAndGet();
      }
    }
  }

  /** Replays some message to some handler. */
  void replay(Random random) {
    String id = "m-" + random.nextInt(ids);
    if (admin.replay("test", id, handler(random), ACTOR, REASON) == Effect.CHANGED) {
      replayed.incrementAndGet();
    }
  }

  /** Changes many in a few steps. */
  void changeMany(Random random) {
    Action action = Action.values()[random.nextInt(Action.values().length)];
    boolean messages = action == Action.REPLAY || action == Action.PURGE;
    AdminChange change =
        new AdminChange(action, action == Action.REPLAY ? handler(random) : null, ACTOR, REASON);
    Slice slice = new Slice(null, random.nextBoolean() || !messages, 10);
    List<Place> places =
        messages
            ? admin.messages(ANY, slice).stream().map(Listed::place).sorted().toList()
            : admin.deliveries(POISONED, slice).stream().map(Listed::place).sorted().toList();
    Operation operation =
        admin.begin(
            Operation.begun("op-" + OPERATIONS.incrementAndGet(), action.name()), ACTOR, REASON);
    for (int steps = 0; steps < 5 && !operation.finished(); steps++) {
      Place reached = operation.at();
      List<Place> next =
          places.stream().filter(each -> each.compareTo(reached) > 0).limit(5).toList();
      boolean last = next.isEmpty() || next.get(next.size() - 1).equals(lastOf(places));
      operation = admin.step(operation, change, next, last);
    }
    changed.get(action).addAndGet(operation.changed());
  }

  private static Place lastOf(List<Place> places) {
    return places.get(places.size() - 1);
  }

  private HandlerId handler(Random random) {
    return random.nextBoolean() ? rig.a : rig.b;
  }
}
