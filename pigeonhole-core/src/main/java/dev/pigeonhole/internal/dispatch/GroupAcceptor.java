package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Lets accepts of many threads share commits, without a thread of its own and without waiting when
 * idle: one caller leads and commits for everybody who queued up while the last commit was under
 * way. Then it hands the lead to the first who waits, and wakes its own group. Nobody who has an
 * answer stands in line for anything: callers that come again at once are in the next group, so
 * that groups grow with the number of callers. A second group goes beside the first if it is large
 * enough to be worth a commit, so that one is put together while the database is busy with the
 * other.
 *
 * <p>Callers share a commit, not their troubles. Whoever could not be served with the others, since
 * an open transaction is in the way or the group failed for a reason that may be somebody else's,
 * accepts alone, on its own thread and beside the leader. Only an outage concerns all alike.
 */
public final class GroupAcceptor {
  /** How far an accept is. */
  private enum State {
    WAITS,
    LEADS,
    ENDED
  }

  private static final class Pending {
    final List<NewMessage> batch;

    // Written by the leader before the end, read by the caller behind it. With neither of the two
    // the caller asks again by itself.
    @Nullable List<AcceptResult> results;
    @Nullable RuntimeException failure;

    private final Thread caller = Thread.currentThread();
    private volatile State state = State.WAITS;

    Pending(List<NewMessage> batch) {
      this.batch = batch;
    }

    /** Waits for the lead or the end. An interrupt is kept for later: a group may have it. */
    State await() {
      boolean interrupted = false;
      while (state == State.WAITS) {
        LockSupport.park(this);
        interrupted |= Thread.interrupted();
      }
      if (interrupted) {
        caller.interrupt();
      }
      return state;
    }

    void goOn(State next) {
      state = next;
      LockSupport.unpark(caller);
    }
  }

  private static final int COMMITS_AT_ONCE = 2;

  /** So many messages are worth a commit beside a smaller one. */
  private static final int WORTH_A_COMMIT = 16;

  private final Acceptor acceptor;
  private final int groupSize;
  private final int worthACommit;
  private final ReentrantLock queueing = new ReentrantLock();

  // All guarded by queueing. Somebody waits only while a commit is under way.
  private final Deque<Pending> queue = new ArrayDeque<>();
  private int waiting; // messages
  private int commits; // under way
  private int underWay; // messages in them

  public GroupAcceptor(Acceptor acceptor, int groupSize) {
    this(acceptor, groupSize, WORTH_A_COMMIT);
  }

  GroupAcceptor(Acceptor acceptor, int groupSize, int worthACommit) {
    this.acceptor = acceptor;
    this.groupSize = groupSize;
    this.worthACommit = worthACommit;
  }

  public List<AcceptResult> accept(List<NewMessage> batch) {
    if (batch.size() * 2 > groupSize) {
      return acceptor.accept(batch); // big enough to be worth a commit of its own
    }
    Pending mine = new Pending(batch);
    if (takesTheLead(mine) || mine.await() == State.LEADS) {
      lead(mine);
    }
    if (mine.failure != null) {
      throw mine.failure;
    }
    return mine.results == null
        ? acceptor.accept(mine.batch)
        : withoutBusy(mine.batch, mine.results);
  }

  /** True for the lead; false where the caller has queued up. */
  private boolean takesTheLead(Pending mine) {
    queueing.lock();
    try {
      if (mayCommit(commits, waiting + mine.batch.size())) {
        commits++;
        return true;
      }
      queue.addLast(mine);
      waiting += mine.batch.size();
      return false;
    } finally {
      queueing.unlock();
    }
  }

  /**
   * Whether a group of this size goes on its way beside so many others. It is as large as the other
   * one: where two small groups take turns, both stay small.
   */
  private boolean mayCommit(int others, int size) {
    return others == 0 || (others < COMMITS_AT_ONCE && size >= Math.max(worthACommit, underWay));
  }

  private void lead(Pending mine) {
    List<Pending> group = List.of();
    try {
      group = groupOf(mine);
      commit(group);
    } finally {
      handOn(sizeOf(group)); // the next commit begins while this group is woken
      for (int i = 0; i < group.size(); i++) {
        group.get(i).goOn(State.ENDED);
      }
    }
  }

  private static int sizeOf(List<Pending> group) {
    int size = 0;
    for (int i = 0; i < group.size(); i++) { // an iterator would have to be allocated
      size += group.get(i).batch.size();
    }
    return size;
  }

  private void handOn(int done) {
    queueing.lock();
    try {
      underWay -= done;
      if (queue.isEmpty() || !mayCommit(commits - 1, waiting)) {
        commits--;
      } else {
        takeFirst().goOn(State.LEADS);
      }
    } finally {
      queueing.unlock();
    }
  }

  private Pending takeFirst() {
    Pending first = queue.removeFirst();
    waiting -= first.batch.size();
    return first;
  }

  /** Asks again, alone, for what the group had no answer to. */
  private List<AcceptResult> withoutBusy(List<NewMessage> batch, List<AcceptResult> results) {
    List<NewMessage> busy = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      if (results.get(i) instanceof AcceptResult.Busy) {
        busy.add(batch.get(i));
      }
    }
    if (busy.isEmpty()) {
      return results;
    }
    Iterator<AcceptResult> answers = alone(busy, busy.size() < batch.size()).iterator();
    List<AcceptResult> all = new ArrayList<>(results.size());
    for (AcceptResult result : results) {
      all.add(result instanceof AcceptResult.Busy ? answers.next() : result);
    }
    return all;
  }

  private List<AcceptResult> alone(List<NewMessage> batch, boolean partlyDone) {
    try {
      return acceptor.accept(batch);
    } catch (StoreException e) {
      if (!partlyDone || e.kind() == StoreException.Kind.UNKNOWN) {
        throw e;
      }
      throw new StoreException(
          StoreException.Kind.UNKNOWN,
          ErrorCode.COMMIT_UNKNOWN,
          "A part of the batch was accepted and the rest was not: " + e.getMessage(),
          e);
    }
  }

  /** How many accepts wait for a commit, for tests. */
  int queued() {
    queueing.lock();
    try {
      return queue.size();
    } finally {
      queueing.unlock();
    }
  }

  /** The leader, who does not wait any more, and as many behind it as fit. */
  private List<Pending> groupOf(Pending leader) {
    List<Pending> group = new ArrayList<>();
    group.add(leader);
    queueing.lock();
    try {
      int size = leader.batch.size();
      for (Pending next : queue) {
        size += next.batch.size();
        if (size > groupSize) {
          break;
        }
        group.add(next);
      }
      // Only now, and without another allocation: who is taken out must be in the group.
      for (int i = group.size(); i > 1; i--) {
        takeFirst();
      }
      underWay += sizeOf(group);
    } finally {
      queueing.unlock();
    }
    return group;
  }

  private void commit(List<Pending> group) {
    try {
      List<NewMessage> all = new ArrayList<>();
      for (Pending pending : group) {
        all.addAll(pending.batch);
      }
      List<AcceptResult> results = acceptor.acceptTogether(all);
      int from = 0;
      for (Pending pending : group) {
        int to = from + pending.batch.size();
        pending.results = List.copyOf(results.subList(from, to));
        from = to;
      }
    } catch (RuntimeException e) {
      if (group.size() == 1 || isOutage(e)) {
        for (Pending pending : group) {
          pending.failure = e; // it would not go better one by one
        }
      }
    } catch (Error e) {
      // Nobody knows whose fault it was: whoever caused it meets it again alone, the others go on.
    }
  }

  /** What an interrupt of the leader breaks is no outage for the others. */
  private static boolean isOutage(RuntimeException e) {
    return e instanceof StoreException failed
        && failed.kind() != StoreException.Kind.PERMANENT
        && !Thread.currentThread().isInterrupted();
  }
}
