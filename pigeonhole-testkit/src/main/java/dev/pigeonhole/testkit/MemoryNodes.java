package dev.pigeonhole.testkit;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.NodeRow.State;
import dev.pigeonhole.store.Nodes;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Nodes and cells, in memory. Nobody is declared dead by a join: tests run several nodes on one.
 */
final class MemoryNodes implements Nodes {
  private final Tables tables;
  private final Ownership ownership;
  private final Maintenance maintenance;

  MemoryNodes(Tables tables, Maintenance maintenance) {
    this.tables = tables;
    this.maintenance = maintenance;
    this.ownership = tables.ownership;
  }

  @Override
  public List<List<HandlerId>> register(List<List<String>> families) {
    return maintenance.register(families);
  }

  @Override
  public long join(String name, Set<Integer> handlers) {
    return tables.commit(
        () -> {
          long incarnation =
              ++ownership.lastIncarnation << 31 | ThreadLocalRandom.current().nextLong(1L << 31);
          ownership.nodes.put(
              incarnation, new NodeRow(incarnation, name, State.LIVE, 0, Set.copyOf(handlers)));
          return incarnation;
        });
  }

  @Override
  public boolean beat(long incarnation, long written) {
    CrashPoints.reach("nodes.before-beat");
    return tables.commit(
        () -> {
          NodeRow node = ownership.nodes.get(incarnation);
          if (node == null || !node.alive()) {
            return false;
          }
          if (node.beat() < written) {
            die(node);
            return false;
          }
          become(node, node.state(), node.beat() + 1);
          return true;
        });
  }

  @Override
  public List<NodeRow> nodes() {
    return tables.commit(() -> List.copyOf(ownership.nodes.values()));
  }

  @Override
  public boolean declareDead(long incarnation, long seenBeat) {
    return tables.commit(
        () -> {
          NodeRow node = ownership.nodes.get(incarnation);
          if (node == null || !node.alive() || node.beat() != seenBeat) {
            return false;
          }
          die(node);
          return true;
        });
  }

  private void die(NodeRow node) {
    become(node, State.DEAD, node.beat());
    ownership.change(
        row -> row.owner() == node.incarnation(),
        row -> new CellRow(row.cell(), 0, row.token() + 1, true));
  }

  @Override
  public List<CellRow> cells(Collection<Integer> handlers) {
    return tables.commit(
        () ->
            ownership.cells.values().stream()
                .filter(row -> handlers.contains(row.cell().handler()))
                .toList());
  }

  @Override
  public List<CellRow> take(long incarnation, List<Cell> cells) {
    return tables.commit(
        () -> {
          NodeRow node = ownership.nodes.get(incarnation);
          if (node == null || node.state() != State.LIVE) {
            return List.of();
          }
          List<CellRow> taken = new ArrayList<>();
          for (Cell cell : cells) {
            CellRow row = ownership.cells.get(cell);
            if (row != null && row.owner() == 0) {
              long token = Math.max(row.token() + 1, tables.now().toEpochMilli());
              CellRow ours = new CellRow(cell, incarnation, token, row.unclean());
              ownership.cells.put(cell, ours);
              taken.add(ours);
            }
          }
          return taken;
        });
  }

  @Override
  public void giveBack(long incarnation, Collection<Cell> cells) {
    tables.commit(
        () ->
            ownership.change(
                row -> row.owner() == incarnation && cells.contains(row.cell()),
                row -> new CellRow(row.cell(), 0, row.token(), row.unclean())));
  }

  @Override
  public void markClean(long incarnation, Collection<Cell> cells) {
    tables.commit(
        () ->
            ownership.change(
                row -> row.owner() == incarnation && cells.contains(row.cell()),
                row -> new CellRow(row.cell(), row.owner(), row.token(), false)));
  }

  @Override
  public Set<Integer> paused() {
    return tables.commit(() -> Set.copyOf(tables.pauses.keySet()));
  }

  @Override
  public void stopping(long incarnation) {
    tables.commit(
        () -> {
          NodeRow node = ownership.nodes.get(incarnation);
          if (node != null && node.state() == State.LIVE) {
            become(node, State.STOPPING, node.beat());
          }
        });
  }

  @Override
  public void stopped(long incarnation) {
    tables.commit(
        () -> {
          NodeRow node = ownership.nodes.get(incarnation);
          if (node != null && node.alive()) {
            ownership.change(
                row -> row.owner() == incarnation,
                row -> new CellRow(row.cell(), 0, row.token(), false));
            become(node, State.STOPPED, node.beat());
          }
        });
  }

  @Override
  public long unknownFor(int handler, long upToMillis) {
    return tables.commit(
        () -> {
          Instant now = tables.now();
          Ownership.Unknown last = ownership.unknown.get(handler);
          long millis = 0;
          if (last != null) {
            long since = Duration.between(last.countedUntil(), now).toMillis();
            millis = last.millis() + Math.max(0, Math.min(since, upToMillis));
          }
          ownership.unknown.put(handler, new Ownership.Unknown(millis, now));
          return millis;
        });
  }

  @Override
  public void known(Collection<Integer> handlers) {
    tables.commit(() -> handlers.forEach(ownership.unknown::remove));
  }

  private void become(NodeRow node, State state, long beat) {
    ownership.nodes.put(
        node.incarnation(),
        new NodeRow(node.incarnation(), node.name(), state, beat, node.handlers()));
  }
}
