package dev.pigeonhole.benchmarks.floor;

import dev.pigeonhole.benchmarks.inbox.Completions;
import dev.pigeonhole.benchmarks.inbox.InboxTables;
import dev.pigeonhole.benchmarks.inbox.Lanes;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Crew;
import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** Delivering: of a backlog, and of what is accepted at the same time. */
final class Delivering {

  private static final int PRODUCERS = Accepting.PRODUCERS;
  private static final int DELIVERERS = 2;

  // After less, they would settle batches that are not full, and more of them.
  private static final int WORTH_READING = DELIVERERS * Deliverer.BATCH;

  private final Messages messages;
  private final int handlers;
  private final int batch;
  private final Completions completions;
  private final Committed committed;
  private final int[] expected;
  private final AtomicInteger next = new AtomicInteger();

  private Delivering(Run run, int handlers, Committed committed) {
    this.messages = Messages.of(run);
    this.handlers = handlers;
    this.batch = Acceptor.batch(run.payloadBytes());
    this.completions = new Completions(messages, handlers);
    this.committed = committed;
    this.expected = expected(messages, handlers);
  }

  /** How many deliveries will come into the lanes of each deliverer: then it has finished. */
  private static int[] expected(Messages messages, int handlers) {
    int[] expected = new int[DELIVERERS];
    for (int i = 0; i < messages.count(); i++) {
      expected[Lanes.of(messages.id(i)) % DELIVERERS] += handlers;
    }
    return expected;
  }

  static long drain(Run run) throws Exception {
    Delivering work = new Delivering(run, 1, Committed.before());
    try (Connections connections = new Connections(run, DELIVERERS)) {
      Accepting.accept(connections, work.messages, work.batch);
      run.begin();
      Crew.run(DELIVERERS, member -> work.deliver(connections.get(member), member));
      run.end();
    }
    return work.check(run);
  }

  static long endToEnd(Run run, int handlers) throws Exception {
    Delivering work = new Delivering(run, handlers, new Committed(PRODUCERS));
    try (Connections connections = new Connections(run, PRODUCERS + DELIVERERS)) {
      run.begin();
      Crew.run(
          PRODUCERS + DELIVERERS,
          member -> {
            if (member < PRODUCERS) {
              work.produce(connections.get(member), member);
            } else {
              work.deliver(connections.get(member), member - PRODUCERS);
            }
          });
      run.end();
    }
    return work.check(run);
  }

  private void produce(Connection connection, int member) throws SQLException {
    Acceptor acceptor = new Acceptor(connection, handlers);
    int all = messages.count();
    for (int from = next.getAndAdd(batch); from < all; from = next.getAndAdd(batch)) {
      int to = Math.min(from + batch, all);
      committed.commit(member, acceptor.accept(messages, from, to), to - from);
    }
    committed.end(member);
  }

  private void deliver(Connection connection, int member) throws Exception {
    int[] lanes =
        IntStream.range(0, Lanes.COUNT).filter(lane -> lane % DELIVERERS == member).toArray();
    Deliverer deliverer = new Deliverer(connection, lanes, handlers, completions);
    int left = expected[member];
    while (left > 0) {
      // Before the statement, whose snapshot then holds at least as much.
      boolean ended = committed.ended();
      long complete = committed.complete();
      int before = committed.messages();
      int settled = deliverer.turn(complete);
      left -= settled;
      if (settled == 0 && ended) {
        throw new IllegalStateException(left + " deliveries are missing");
      }
      if (settled < Deliverer.BATCH / 2) {
        committed.await(before + WORTH_READING);
      }
    }
  }

  private long check(Run run) throws SQLException {
    if (completions.doubled() > 0) {
      throw new IllegalStateException(completions.doubled() + " were handled twice");
    }
    try (InboxTables tables = InboxTables.all(run.connect())) {
      return tables.checkCompleted(messages.count(), handlers);
    }
  }
}
