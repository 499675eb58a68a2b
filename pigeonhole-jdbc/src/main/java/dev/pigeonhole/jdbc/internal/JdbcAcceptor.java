package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.jdbc.internal.Gate.Batch;
import dev.pigeonhole.jdbc.internal.Session.LockWait;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreException.Kind;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Accepts through the {@link Gate}, and deals with everything that can go wrong around it. */
final class JdbcAcceptor implements Acceptor {
  private static final Duration INSISTING = Duration.ofSeconds(5);

  private final Jdbc jdbc;
  private final Gate gate;
  private final Statements statements;

  JdbcAcceptor(Jdbc jdbc, Gate gate, Statements statements) {
    this.jdbc = jdbc;
    this.gate = gate;
    this.statements = statements;
  }

  @Override
  public List<AcceptResult> accept(List<NewMessage> batch) {
    if (batch.isEmpty()) {
      return List.of();
    }
    return new Call(batch, false).run();
  }

  @Override
  public List<AcceptResult> acceptTogether(List<NewMessage> batch) {
    return batch.isEmpty() ? List.of() : new Call(batch, true).run();
  }

  @Override
  public List<AcceptResult> accept(Connection connection, List<NewMessage> batch) {
    try {
      if (connection.getAutoCommit()) {
        throw new StoreException(
            Kind.PERMANENT,
            ErrorCode.TX_REQUIRED,
            "The connection is in autocommit mode. Call setAutoCommit(false) first, so that the"
                + " message is accepted together with your own writes, or accept without a"
                + " connection.",
            null);
      }
      if (batch.isEmpty()) {
        return List.of();
      }
      Batch joined = Batch.of(batch, newToken());
      gate.accept(jdbc.foreign(connection), joined);
      if (joined.addsDeliveries()) {
        UnitConnection.delivers(connection);
      }
      return Arrays.asList(joined.results);
    } catch (SQLException e) {
      UnitConnection.failed(connection, e);
      throw Errors.of(jdbc.dialect, jdbc.tables, e, false);
    }
  }

  private static long newToken() {
    return ThreadLocalRandom.current().nextLong();
  }

  /**
   * One call of {@link #accept(List)}. What is too large to be sent at once is halved. A row that
   * the database refuses fails the call: its values are valid, so the tables are not as they should
   * be.
   *
   * <p>Identities that another open transaction holds cost the call one wait, however many they
   * are: after a short one the database is asked which those are; the others are stored, and then
   * all that are held are waited for together. Where callers share a commit each of them waits on
   * its own.
   */
  private final class Call {
    private final List<NewMessage> messages;
    private final boolean together;
    private final Set<Integer> originals;
    private final long token = newToken();
    private final @Nullable AcceptResult[] results;
    private final List<Integer> delayed = new ArrayList<>();

    /** Ordering key → the first message of it that is delayed. */
    private final Map<Long, Integer> delayedKeys = new HashMap<>();

    private boolean partlyDone;
    private boolean askedWhatIsHeld;

    Call(List<NewMessage> messages, boolean together) {
      this.messages = messages;
      this.together = together;
      this.originals = Batch.originals(messages);
      this.results = new AcceptResult[messages.size()];
    }

    List<AcceptResult> run() {
      try {
        accept(IntStream.range(0, messages.size()).boxed().toList(), LockWait.SHORT);
        if (together) {
          delayed.forEach(position -> results[position] = new AcceptResult.Busy());
        } else if (!delayed.isEmpty()) {
          accept(delayed.stream().sorted().toList(), LockWait.TOGETHER);
        }
      } catch (StoreException e) {
        if (partlyDone && e.kind() != Kind.UNKNOWN) {
          throw Errors.unknown("A part of the batch was accepted and the rest was not", e);
        }
        throw e;
      }
      List<AcceptResult> answer = new ArrayList<>();
      for (AcceptResult each : results) {
        if (each == null) {
          throw new IllegalStateException("A message has no answer");
        }
        answer.add(each);
      }
      return answer;
    }

    private void accept(List<Integer> positions, LockWait lockWait) {
      List<Integer> now = lockWait == LockWait.SHORT ? withoutDelayedKeys(positions) : positions;
      if (now.isEmpty()) {
        return;
      }
      try {
        take(now, insistently(now, lockWait).results);
      } catch (StoreException e) {
        Fault fault = jdbc.fault(e);
        boolean splits = e.kind() != Kind.UNKNOWN;
        List<Integer> left = now.stream().filter(position -> results[position] == null).toList();
        if (splits && fault == Fault.TOO_LARGE && left.size() > 1) {
          halves(left, lockWait);
        } else if (splits && fault == Fault.LOCK_TIMEOUT && lockWait == LockWait.SHORT) {
          if (left.size() == 1 || askedWhatIsHeld) {
            left.forEach(this::delay);
          } else {
            accept(withoutHeld(left), lockWait);
          }
        } else if (together && e.kind() == Kind.PERMANENT && left.size() < now.size()) {
          left.forEach(this::delay); // whose fault it is they find out alone
        } else {
          throw e;
        }
      }
    }

    private void halves(List<Integer> positions, LockWait lockWait) {
      int middle = positions.size() / 2;
      accept(positions.subList(0, middle), lockWait);
      accept(positions.subList(middle, positions.size()), lockWait);
    }

    /**
     * Delays those that another transaction holds, or all if that cannot be found out; the next try
     * knows whether that was all.
     */
    private List<Integer> withoutHeld(List<Integer> positions) {
      askedWhatIsHeld = true;
      List<MessageRef> identities =
          positions.stream().map(messages::get).map(Gate::ref).distinct().toList();
      Set<MessageRef> held;
      try {
        held =
            jdbc.once(LockWait.NONE, session -> HeldIdentities.of(session, statements, identities));
      } catch (StoreException e) {
        held = Set.copyOf(identities);
      }
      List<Integer> free = new ArrayList<>();
      for (int position : positions) {
        if (held.contains(Gate.ref(messages.get(position)))) {
          delay(position);
        } else {
          free.add(position);
        }
      }
      return free;
    }

    /** What follows a delayed message in its ordering key waits with it. */
    private List<Integer> withoutDelayedKeys(List<Integer> positions) {
      if (delayedKeys.isEmpty()) {
        return positions;
      }
      List<Integer> now = new ArrayList<>();
      for (int position : positions) {
        Long key = messages.get(position).keyHash();
        if (key != null && delayedKeys.getOrDefault(key, position) < position) {
          delayed.add(position);
        } else {
          now.add(position);
        }
      }
      return now;
    }

    private void delay(int position) {
      delayed.add(position);
      Long key = messages.get(position).keyHash();
      if (key != null) {
        delayedKeys.merge(key, position, Math::min);
      }
    }

    /** Keeps the answers of what has committed; some may be missing yet. */
    private void take(List<Integer> positions, @Nullable AcceptResult[] committed) {
      for (int i = 0; i < positions.size(); i++) {
        if (committed[i] != null) {
          results[positions.get(i)] = committed[i];
          partlyDone = true;
        }
      }
    }

    /**
     * Tries again after deadlocks and lost connections; the token makes that harmless. Not for
     * long: a pool that has waited in vain for a connection would only wait as long again, and the
     * caller had better hear of an outage.
     */
    private Batch insistently(List<Integer> positions, LockWait lockWait) {
      long began = System.nanoTime();
      boolean doubt = false;
      for (int attempt = 1; ; attempt++) {
        try {
          return once(positions, part(positions), lockWait);
        } catch (StoreException e) {
          doubt |= e.kind() == Kind.UNKNOWN;
          boolean early = System.nanoTime() - began < INSISTING.toNanos();
          boolean again = e.deadlock() || ((doubt || lost(e)) && early);
          if (!again || attempt >= Jdbc.TRIES) {
            if (doubt && e.kind() != Kind.UNKNOWN) {
              throw Errors.unknown("An earlier try was in doubt and the last one failed", e);
            }
            throw e;
          }
          Jdbc.backOff(attempt);
        }
      }
    }

    private boolean lost(StoreException e) {
      return jdbc.fault(e) == Fault.LOST;
    }

    private Batch part(List<Integer> positions) {
      Set<Integer> original = new HashSet<>();
      for (int i = 0; i < positions.size(); i++) {
        if (originals.contains(positions.get(i))) {
          original.add(i);
        }
      }
      return new Batch(positions.stream().map(messages::get).toList(), token, original);
    }

    private Batch once(List<Integer> positions, Batch batch, LockWait lockWait) {
      if (statements.insertsInOneStatement() && batch.small()) {
        jdbc.write(
            lockWait,
            session -> {
              CrashPoints.reach("accept.before-commit");
              gate.insertNew(session, batch);
              return batch;
            });
        if (!batch.answered()) {
          take(positions, batch.results);
          jdbc.once(
              lockWait,
              session -> {
                gate.repeats(session, batch);
                CrashPoints.reach("accept.before-commit");
                return batch;
              });
        }
      } else {
        jdbc.once(
            lockWait,
            session -> {
              gate.accept(session, batch);
              CrashPoints.reach("accept.before-commit");
              return batch;
            });
      }
      CrashPoints.reach("accept.after-commit");
      return batch;
    }
  }
}
