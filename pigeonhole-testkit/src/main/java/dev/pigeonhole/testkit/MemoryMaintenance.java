package dev.pigeonhole.testkit;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.StoreSettings;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Opening and the registry of handler keys, in memory. */
final class MemoryMaintenance implements Maintenance {
  private final Tables tables;

  /** What the first inbox said when it opened this store; only touched under the lock. */
  private @Nullable StoreSettings settings;

  MemoryMaintenance(Tables tables) {
    this.tables = tables;
  }

  @Override
  public List<String> open(StoreSettings wanted) {
    return tables.commit(
        () -> {
          StoreSettings first = settings;
          if (first == null) {
            settings = wanted;
          } else {
            refuseOther(first, wanted);
          }
          return List.of();
        });
  }

  private static void refuseOther(StoreSettings first, StoreSettings wanted) {
    List<ConfigurationException.Problem> problems = new ArrayList<>();
    if (!first.inbox().equals(wanted.inbox())) {
      problems.add(
          new ConfigurationException.Problem(
              ErrorCode.INBOX_TAKEN,
              "This store belongs to inbox '%s' and cannot serve inbox '%s'. Give each its own."
                  .formatted(first.inbox(), wanted.inbox())));
    }
    if (first.lanes() != wanted.lanes()) {
      problems.add(
          new ConfigurationException.Problem(
              ErrorCode.LANES_DIFFER,
              "Inbox '%s' was started with %d lanes and keeps them; %d were asked for."
                  .formatted(first.inbox(), first.lanes(), wanted.lanes())));
    }
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
  }

  @Override
  public List<List<HandlerId>> register(List<List<String>> families) {
    return tables.commit(
        () -> {
          StoreSettings opened = settings;
          if (opened == null) {
            throw new IllegalStateException("Open the store before registering handler keys.");
          }
          List<List<HandlerId>> ids = families.stream().map(tables.handlers::register).toList();
          for (HandlerId id : tables.handlers.all()) {
            tables.ownership.addCells(opened.lanes(), id.family());
          }
          return ids;
        });
  }

  @Override
  public Collection<HandlerId> handlers() {
    return tables.commit(tables.handlers::all);
  }

  @Override
  public Pruning.Step prune(Pruning pruning, int limit) {
    return tables.commit(() -> tables.pruning.step(pruning, limit));
  }

  @Override
  public Map<Integer, Integer> unsettled(Collection<Integer> wanted, int atMost) {
    return tables.commit(
        () -> {
          Map<Integer, Integer> counted = new HashMap<>();
          for (CellRows cell : tables.allOpen()) {
            for (OpenRow row : cell.all()) {
              int handler = row.delivery().cell().handler();
              if (wanted.contains(handler)) {
                counted.merge(handler, 1, (was, one) -> Math.min(atMost, was + one));
              }
            }
          }
          return counted;
        });
  }

  @Override
  public int poisonUnknown(int handler, Failure reason, int limit) {
    return tables.commit(
        () -> {
          List<OpenRow> rows = new ArrayList<>();
          for (CellRows cell : tables.allOpen()) {
            cell.all().stream()
                .filter(row -> row.delivery().cell().handler() == handler)
                .forEach(rows::add);
          }
          rows.sort(Comparator.comparing(row -> row.delivery().seq()));
          List<OpenRow> chosen = rows.subList(0, Math.min(limit, rows.size()));
          chosen.forEach(
              row -> tables.poison(row, row.delivery().marked(0), reason, OnPoison.BLOCK_KEY));
          return chosen.size();
        });
  }

  /** Whatever is released here is released whole. */
  @Override
  public void finishReleases() {}
}
