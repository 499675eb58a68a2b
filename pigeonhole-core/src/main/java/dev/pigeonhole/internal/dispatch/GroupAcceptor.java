package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.NewMessage;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Lets accepts of many threads share commits, without a thread of its own and without waiting when
 * idle: whoever gets the lock commits for everybody who queued up while the last commit was under
 * way, and the others find their answer ready when the lock comes to them.
 */
public final class GroupAcceptor {
  private static final class Pending {
    final List<NewMessage> batch;
    // Written by the leader, read by the owner: both while holding the lock.
    @Nullable List<AcceptResult> results;
    @Nullable RuntimeException failure;

    Pending(List<NewMessage> batch) {
      this.batch = batch;
    }

    boolean done() {
      return results != null || failure != null;
    }
  }

  private final Acceptor acceptor;
  private final int groupSize;
  private final ReentrantLock leading = new ReentrantLock();
  private final ReentrantLock queueing = new ReentrantLock();
  private final Deque<Pending> queue = new ArrayDeque<>();

  public GroupAcceptor(Acceptor acceptor, int groupSize) {
    this.acceptor = acceptor;
    this.groupSize = groupSize;
  }

  public List<AcceptResult> accept(List<NewMessage> batch) {
    if (batch.size() * 2 > groupSize) {
      return acceptor.accept(batch); // big enough to be worth a commit of its own
    }
    Pending mine = new Pending(batch);
    queueing.lock();
    try {
      queue.addLast(mine);
    } finally {
      queueing.unlock();
    }
    leading.lock();
    try {
      while (!mine.done()) {
        commit(nextGroup());
      }
    } finally {
      leading.unlock();
    }
    if (mine.failure != null) {
      throw mine.failure;
    }
    return mine.results == null ? List.of() : mine.results;
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

  private List<Pending> nextGroup() {
    List<Pending> group = new ArrayList<>();
    int size = 0;
    queueing.lock();
    try {
      Pending next = queue.peekFirst();
      while (next != null && size + next.batch.size() <= groupSize) {
        queue.removeFirst();
        group.add(next);
        size += next.batch.size();
        next = queue.peekFirst();
      }
    } finally {
      queueing.unlock();
    }
    return group;
  }

  private void commit(List<Pending> group) {
    List<NewMessage> all = new ArrayList<>();
    group.forEach(pending -> all.addAll(pending.batch));
    try {
      List<AcceptResult> results = acceptor.accept(all);
      int from = 0;
      for (Pending pending : group) {
        int to = from + pending.batch.size();
        pending.results = List.copyOf(results.subList(from, to));
        from = to;
      }
    } catch (RuntimeException e) {
      group.forEach(pending -> pending.failure = e);
    } catch (Error e) {
      group.forEach(pending -> pending.failure = new IllegalStateException("accept failed", e));
      throw e;
    }
  }
}
