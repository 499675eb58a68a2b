package dev.pigeonhole.internal.admin;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.BulkChange;
import dev.pigeonhole.admin.ChangePreview;
import dev.pigeonhole.admin.ChangeResult;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Slice;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A change to many. How far it has come stands in the store and moves in the same commit as each
 * step, so it can be cut anywhere and by anything: whoever runs it again goes on from there.
 */
final class ChangeOfMany implements BulkChange {
  private static final int STEP = 100;
  private static final int SAMPLE = 10;

  /** Those that are meant, as the store finds them. */
  interface Choice {
    List<Listed<MessageRef>> next(Slice slice);

    long count(int most);
  }

  private final Administration admin;
  private final AdminChange change;
  private final String what;
  private final boolean narrow;
  private final Choice choice;
  private final int perSecond;
  private final int atMost;
  private final @Nullable String name;

  ChangeOfMany(
      Administration admin, AdminChange change, String what, boolean narrow, Choice choice) {
    this(admin, change, what, narrow, choice, Integer.MAX_VALUE, MOST, null);
  }

  private ChangeOfMany(
      Administration admin,
      AdminChange change,
      String what,
      boolean narrow,
      Choice choice,
      int perSecond,
      int atMost,
      @Nullable String name) {
    this.admin = admin;
    this.change = change;
    this.what = what;
    this.narrow = narrow;
    this.choice = choice;
    this.perSecond = perSecond;
    this.atMost = atMost;
    this.name = name;
  }

  @Override
  public BulkChange perSecond(int most) {
    return new ChangeOfMany(
        admin, change, what, narrow, choice, positive("perSecond", most), atMost, name);
  }

  @Override
  public BulkChange atMost(int most) {
    return new ChangeOfMany(
        admin, change, what, narrow, choice, perSecond, positive("atMost", most), name);
  }

  private static int positive(String option, int value) {
    if (value < 1) {
      throw new InboxException(
          ErrorCode.RANGE_INVALID, "%s must be at least 1, and is %d.".formatted(option, value));
    }
    return value;
  }

  @Override
  public BulkChange operation(String wanted) {
    if (!Names.valid(wanted)) {
      throw new InboxException(
          ErrorCode.NAME_INVALID,
          "'%s' cannot name a change. %s".formatted(Names.shown(wanted), Names.RULE));
    }
    return new ChangeOfMany(admin, change, what, narrow, choice, perSecond, atMost, wanted);
  }

  @Override
  public ChangePreview dryRun() {
    refuseWide();
    List<MessageRef> sample =
        choice.next(new Slice(null, true, SAMPLE)).stream().map(Listed::view).toList();
    return new ChangePreview(Count.upTo(atMost, choice.count(oneMore(atMost))), sample);
  }

  @Override
  public ChangeResult run() {
    refuseWide();
    String called = name == null ? UUID.randomUUID().toString() : name;
    AdminQueries queries = admin.queries();
    if (name == null || queries.operation(name).isEmpty()) {
      refuseTooMany();
    }
    Operation operation =
        queries.begin(Operation.begun(called, what), admin.actor(), change.reason());
    if (!operation.what().equals(what)) {
      throw new InboxException(
          ErrorCode.OPERATION_TAKEN,
          "Operation '%s' is another change: %s. Choose another name for this one: %s."
              .formatted(called, operation.what(), what));
    }
    try {
      while (!operation.finished() && !Thread.currentThread().isInterrupted()) {
        operation = step(queries, operation);
      }
    } catch (StoreException e) {
      // Whoever did not choose the name learns it here, and does nothing twice.
      throw new StoreException(
          e.kind(),
          e.code(),
          "Operation '%s' was cut after %,d; run it again with operation(\"%s\"). %s"
              .formatted(called, operation.matched(), called, e.getMessage()),
          e);
    }
    return result(operation);
  }

  private Operation step(AdminQueries queries, Operation operation) {
    int size = (int) Math.min(Math.min(STEP, perSecond), Math.max(0, atMost - operation.matched()));
    List<Place> found =
        choice.next(new Slice(operation.at(), true, size + 1)).stream().map(Listed::place).toList();
    List<Place> chosen = found.subList(0, Math.min(size, found.size()));
    boolean last = found.size() <= size || operation.matched() + chosen.size() >= atMost;
    Operation after = queries.step(operation, change, chosen, last);
    if (!after.finished() && perSecond < Integer.MAX_VALUE) {
      rest(after.matched() - operation.matched());
    }
    return after;
  }

  /** For as long as so many may take; a step may have ended before the last that was chosen. */
  private void rest(long matched) {
    try {
      admin.sleeper().sleep(Duration.ofSeconds(matched).dividedBy(perSecond));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the loop ends; what is left can be run again
    }
  }

  private void refuseWide() {
    if (!narrow) {
      throw new InboxException(
          ErrorCode.SELECTION_INVALID,
          "Nothing narrows the choice, so this would change everything there is. Name a handler, a"
              + " type, a channel, a source, an id, a time or a fingerprint.");
    }
  }

  private void refuseTooMany() {
    if (choice.count(oneMore(atMost)) > atMost) {
      throw new InboxException(
          ErrorCode.CHANGE_TOO_LARGE,
          ("There are more than %,d to %s. Look at them with dryRun(), narrow the choice, or allow"
                  + " more with atMost(…).")
              .formatted(atMost, what));
    }
  }

  private static int oneMore(int most) {
    return most == Integer.MAX_VALUE ? most : most + 1;
  }

  static ChangeResult result(Operation operation) {
    Map<String, Long> skipped = new TreeMap<>();
    operation.skipped().forEach((effect, times) -> skipped.put(effect.text(), times));
    return new ChangeResult(
        operation.name(), operation.matched(), operation.changed(), skipped, operation.finished());
  }
}
