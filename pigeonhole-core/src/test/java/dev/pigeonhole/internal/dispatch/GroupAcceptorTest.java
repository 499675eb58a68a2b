package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreException;
import java.sql.Connection;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class GroupAcceptorTest {
  private static final int GROUP = 100;

  /** So that everybody waits for the first commit, unless a test says something else. */
  private static final int NEVER = Integer.MAX_VALUE;

  /** Answers each message with the number in its id; holds the first commit until told. */
  private static class Slow implements Acceptor {
    final CountDownLatch firstBegan = new CountDownLatch(1);
    final CountDownLatch firstMayEnd = new CountDownLatch(1);
    final List<Integer> commits = Collections.synchronizedList(new ArrayList<>());
    volatile @Nullable Throwable failure;
    volatile @Nullable String locked;
    volatile @Nullable String failingId;
    volatile @Nullable RuntimeException failing;
    final CountDownLatch waitsForLock = new CountDownLatch(1);
    final CountDownLatch unlocked = new CountDownLatch(1);

    @Override
    public List<AcceptResult> acceptTogether(List<NewMessage> batch) {
      return hasLocked(batch) ? busy(batch) : accept(batch);
    }

    void failsFor(String id, RuntimeException thrown) {
      failingId = id;
      failing = thrown;
    }

    private boolean hasLocked(List<NewMessage> batch) {
      return batch.stream().anyMatch(each -> each.id().equals(locked));
    }

    private static List<AcceptResult> busy(List<NewMessage> batch) {
      return batch.stream().map(each -> (AcceptResult) new AcceptResult.Busy()).toList();
    }

    @Override
    public List<AcceptResult> accept(List<NewMessage> batch) {
      if (hasLocked(batch)) {
        waitsForLock.countDown();
        await(unlocked);
      }
      commits.add(batch.size());
      RuntimeException own = failing;
      if (own != null && batch.stream().anyMatch(each -> each.id().equals(failingId))) {
        throw own;
      }
      if (commits.size() == 1) {
        firstBegan.countDown();
        await(firstMayEnd);
      } else if (failure instanceof RuntimeException e) {
        throw e;
      } else if (failure instanceof Error e) {
        throw e;
      }
      return batch.stream()
          .map(each -> (AcceptResult) new AcceptResult.Stored(Long.parseLong(each.id()), 0))
          .toList();
    }

    @Override
    public List<AcceptResult> accept(Connection connection, List<NewMessage> batch) {
      throw new UnsupportedOperationException();
    }
  }

  private final Slow store = new Slow();
  private final GroupAcceptor acceptor = new GroupAcceptor(store, GROUP, NEVER);
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void stop() {
    threads.shutdownNow();
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(300, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static NewMessage message(int number) {
    return new NewMessage(
        "s",
        String.valueOf(number),
        "t",
        List.of("t"),
        "c",
        "local",
        0,
        null,
        null,
        null,
        "text/plain",
        new byte[0],
        new byte[16],
        OnConflict.KEEP,
        null,
        null,
        List.of(),
        0);
  }

  private static List<NewMessage> batch(int from, int size) {
    return IntStream.range(from, from + size).mapToObj(GroupAcceptorTest::message).toList();
  }

  private static List<AcceptResult> answers(int from, int size) {
    return IntStream.range(from, from + size)
        .mapToObj(number -> (AcceptResult) new AcceptResult.Stored(number, 0))
        .toList();
  }

  /** Starts so many accepts of one message each while the first commit is held. */
  private List<Future<List<AcceptResult>>> queueBehindTheFirst(int others) throws Exception {
    List<Future<List<AcceptResult>>> all = new ArrayList<>();
    all.add(threads.submit(() -> acceptor.accept(batch(0, 1))));
    await(store.firstBegan);
    for (int i = 1; i <= others; i++) {
      int number = i;
      all.add(threads.submit(() -> acceptor.accept(batch(number, 1))));
    }
    awaitQueued(others);
    return all;
  }

  private void awaitQueued(int accepts) {
    while (acceptor.queued() < accepts) {
      Thread.onSpinWait();
    }
  }

  @Test
  void acceptsOfManyThreadsShareACommitAndEachGetsItsOwnAnswer() throws Exception {
    List<Future<List<AcceptResult>>> all = queueBehindTheFirst(50);
    store.firstMayEnd.countDown();

    for (int i = 0; i <= 50; i++) {
      assertThat(all.get(i).get(300, TimeUnit.SECONDS)).isEqualTo(answers(i, 1));
    }
    assertThat(store.commits).containsExactly(1, 50);
  }

  /** Each commit ends when all callers but its own wait for the next one. */
  @Test
  void whoeverHasAnAnswerStandsInNobodysLine() throws Exception {
    int callers = 20;
    CountDownLatch enough = new CountDownLatch(callers * 20);
    GroupAcceptor[] self = new GroupAcceptor[1];
    Acceptor patient =
        new Slow() {
          @Override
          public List<AcceptResult> acceptTogether(List<NewMessage> batch) {
            while (self[0].queued() < callers - batch.size()
                && enough.getCount() > 0
                && !Thread.currentThread().isInterrupted()) {
              Thread.onSpinWait();
            }
            return batch.stream()
                .map(each -> (AcceptResult) new AcceptResult.Stored(Long.parseLong(each.id()), 0))
                .toList();
          }
        };
    self[0] = new GroupAcceptor(patient, GROUP, NEVER);

    for (int i = 0; i < callers; i++) {
      int number = i;
      threads.execute(
          () -> {
            while (enough.getCount() > 0) {
              self[0].accept(batch(number, 1));
              enough.countDown();
            }
          });
    }
    await(enough);
  }

  @Test
  void aSecondGroupGoesBesideTheFirstOnceItIsWorthACommit() throws Exception {
    GroupAcceptor beside = new GroupAcceptor(store, GROUP, 10);
    Future<List<AcceptResult>> first = threads.submit(() -> beside.accept(batch(0, 1)));
    await(store.firstBegan);
    List<Future<List<AcceptResult>>> others = new ArrayList<>();
    for (int i = 1; i < 10; i++) {
      int number = i;
      others.add(threads.submit(() -> beside.accept(batch(number, 1))));
    }
    while (beside.queued() < 9) {
      Thread.onSpinWait();
    }
    assertThat(store.commits).containsExactly(1);

    assertThat(beside.accept(batch(10, 1))).isEqualTo(answers(10, 1));

    for (int i = 1; i < 10; i++) {
      assertThat(others.get(i - 1).get(300, TimeUnit.SECONDS)).isEqualTo(answers(i, 1));
    }
    assertThat(store.commits).containsExactly(1, 10);
    assertThat(first.isDone()).isFalse();
    store.firstMayEnd.countDown();
    assertThat(first.get(300, TimeUnit.SECONDS)).isEqualTo(answers(0, 1));
  }

  @Test
  void neverMoreThanTwoCommitsAreUnderWayAndNobodyIsForgotten() throws Exception {
    AtomicInteger underWay = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    Acceptor counting =
        new Slow() {
          @Override
          public List<AcceptResult> acceptTogether(List<NewMessage> batch) {
            most.accumulateAndGet(underWay.incrementAndGet(), Math::max);
            Thread.yield();
            underWay.decrementAndGet();
            return batch.stream()
                .map(each -> (AcceptResult) new AcceptResult.Stored(Long.parseLong(each.id()), 0))
                .toList();
          }
        };
    GroupAcceptor busy = new GroupAcceptor(counting, GROUP, 4);
    List<Future<?>> callers = new ArrayList<>();
    for (int i = 0; i < 32; i++) {
      int caller = i;
      callers.add(
          threads.submit(
              () -> {
                for (int round = 0; round < 500; round++) {
                  int number = caller * 500 + round;
                  assertThat(busy.accept(batch(number, 1))).isEqualTo(answers(number, 1));
                }
              }));
    }
    for (Future<?> each : callers) {
      each.get(300, TimeUnit.SECONDS);
    }
    assertThat(most).hasValueLessThanOrEqualTo(2);
    assertThat(busy.queued()).isZero();
  }

  @Test
  void oneThreadNeverWaitsForCompany() {
    store.firstMayEnd.countDown();
    for (int i = 0; i < 10; i++) {
      assertThat(acceptor.accept(batch(i * 3, 3))).isEqualTo(answers(i * 3, 3));
    }
    assertThat(store.commits).hasSize(10).containsOnly(3);
  }

  @Test
  void aFailureReachesEverybodyOfTheGroupAndNobodyElse() throws Exception {
    List<Future<List<AcceptResult>>> all = queueBehindTheFirst(20);
    StoreException down =
        new StoreException(
            StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_UNREACHABLE, "down", null);
    store.failure = down;
    store.firstMayEnd.countDown();

    assertThat(all.get(0).get(300, TimeUnit.SECONDS)).isEqualTo(answers(0, 1));
    for (Future<List<AcceptResult>> each : all.subList(1, 21)) {
      assertThatThrownBy(() -> each.get(300, TimeUnit.SECONDS)).hasCause(down);
    }
    store.failure = null;
    assertThat(acceptor.accept(batch(99, 1))).isEqualTo(answers(99, 1));
  }

  @Test
  void onlyTheCallerWithALockedIdWaits() throws Exception {
    List<Future<List<AcceptResult>>> all = queueBehindTheFirst(20);
    store.locked = "7";
    store.firstMayEnd.countDown();

    for (int i = 0; i <= 20; i++) {
      if (i != 7) {
        assertThat(all.get(i).get(300, TimeUnit.SECONDS)).isEqualTo(answers(i, 1));
      }
    }
    await(store.waitsForLock);
    assertThat(acceptor.accept(batch(99, 3))).isEqualTo(answers(99, 3));
    assertThat(all.get(7).isDone()).isFalse();
    store.unlocked.countDown();
    assertThat(all.get(7).get(300, TimeUnit.SECONDS)).isEqualTo(answers(7, 1));
  }

  @Test
  void aFailureThatMayBeSomebodyElsesIsTriedAlone() throws Exception {
    List<Future<List<AcceptResult>>> all = queueBehindTheFirst(20);
    RuntimeException mine =
        new StoreException(StoreException.Kind.PERMANENT, ErrorCode.DATABASE_ERROR, "no", null);
    store.failsFor("7", mine);
    store.firstMayEnd.countDown();

    for (int i = 0; i <= 20; i++) {
      Future<List<AcceptResult>> each = all.get(i);
      if (i == 7) {
        assertThatThrownBy(() -> each.get(300, TimeUnit.SECONDS)).hasCause(mine);
      } else {
        assertThat(each.get(300, TimeUnit.SECONDS)).isEqualTo(answers(i, 1));
      }
    }
  }

  @Test
  void anErrorLeavesNobodyWaiting() throws Exception {
    List<Future<List<AcceptResult>>> all = queueBehindTheFirst(20);
    store.failure = new OutOfMemoryError("test");
    store.firstMayEnd.countDown();

    for (Future<List<AcceptResult>> each : all.subList(1, 21)) {
      assertThatThrownBy(() -> each.get(300, TimeUnit.SECONDS))
          .isInstanceOf(ExecutionException.class);
    }
    store.failure = null;
    assertThat(acceptor.accept(batch(99, 1))).isEqualTo(answers(99, 1));
  }

  @Test
  void aBigBatchCommitsAloneAndWaitsForNobody() throws Exception {
    List<Future<List<AcceptResult>>> all = queueBehindTheFirst(3);

    assertThat(acceptor.accept(batch(1_000, 80))).isEqualTo(answers(1_000, 80));
    assertThat(store.commits).containsExactly(1, 80);
    store.firstMayEnd.countDown();
    for (Future<List<AcceptResult>> each : all) {
      each.get(300, TimeUnit.SECONDS);
    }
    assertThat(store.commits).containsExactly(1, 80, 3);
  }

  @Test
  void noGroupIsLargerThanTold() throws Exception {
    List<Future<List<AcceptResult>>> all = queueBehindTheFirst(GROUP + 50);
    store.firstMayEnd.countDown();
    for (Future<List<AcceptResult>> each : all) {
      each.get(300, TimeUnit.SECONDS);
    }

    assertThat(store.commits).containsExactly(1, GROUP, 50);
  }

  @Test
  void batchesOfSeveralDoNotOverfillAGroup() throws Exception {
    List<Future<List<AcceptResult>>> all = queueBehindTheFirst(70);
    Future<List<AcceptResult>> several = threads.submit(() -> acceptor.accept(batch(500, 50)));
    awaitQueued(71);
    store.firstMayEnd.countDown();

    assertThat(several.get(300, TimeUnit.SECONDS)).isEqualTo(answers(500, 50));
    for (Future<List<AcceptResult>> each : all) {
      each.get(300, TimeUnit.SECONDS);
    }
    assertThat(store.commits).allMatch(size -> size <= GROUP);
  }

  @Test
  void anErrorWhileAGroupIsPutTogetherStopsNobody() {
    store.firstMayEnd.countDown();
    List<NewMessage> broken =
        new AbstractList<>() {
          private boolean thrown;

          @Override
          public NewMessage get(int index) {
            return message(1);
          }

          @Override
          public int size() {
            return 1;
          }

          @Override
          public Object[] toArray() {
            if (!thrown) {
              thrown = true;
              throw new StackOverflowError();
            }
            return new Object[] {message(1)};
          }
        };

    assertThat(acceptor.accept(broken)).isEqualTo(answers(1, 1));
    assertThat(acceptor.accept(batch(2, 1))).isEqualTo(answers(2, 1));
  }
}
