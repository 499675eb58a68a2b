package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;

/** Several nodes on one store: shares, silence, takeover, crashes. */
@Execution(CONCURRENT)
@Timeout(600)
class ClusterBehaviourTest {
  /** After this time without a heartbeat a node is dead; no test takes as long. */
  private static final Duration LIVING = ofMinutes(10);

  private static final int LANES = 8;
  private static final String GHOST = "ghost";
  private static final Duration PATIENCE = ofMinutes(3); // beside many other tests

  private final MemoryStore memory = MemoryStore.create();
  private final List<Node> nodes = new ArrayList<>();
  private final List<Gate> gates = new ArrayList<>();
  private final ExecutorService slot = Executors.newSingleThreadExecutor();

  /** A node with its own way to the store, which can be cut. */
  private final class Node {
    final HookedStore store = new HookedStore(memory);
    final Recorder events = new Recorder();
    final TestInbox inbox;

    Node(Duration deadAfter, MessageHandler<String> handler) {
      this(
          deadAfter,
          Channel.named("c")
              .on(String.class)
              .handleMessage("h", handler, retrying(RetryPolicy.fixed(ofMillis(1))))
              .build());
    }

    Node(Duration deadAfter, Channel channel) {
      inbox =
          TestInbox.on(store, new TestClock(), channel)
              .with(
                  it ->
                      it.listener(events)
                          .lanes(LANES)
                          .beat(ofMillis(50))
                          .deadAfter(deadAfter)
                          .polling(ofMillis(5), ofMillis(20))
                          .stopGrace(ZERO))
              .patience(PATIENCE);
      nodes.add(this);
    }

    /** Waits until it has begun so many more looks at who owns which cell. */
    void awaitLooks(int more) {
      int enough = store.calls("cells") + more;
      inbox.await(more + " looks", () -> store.calls("cells") >= enough);
    }

    /** The row of its present incarnation; there is none between a death and the next join. */
    Optional<NodeRow> row() {
      return memory.nodes().nodes().stream()
          .filter(row -> row.alive() && !row.name().equals(GHOST))
          .findFirst();
    }

    long incarnation() {
      return row().map(NodeRow::incarnation).orElse(-1L);
    }

    /** As if it had been silent for too long, which it finds out with its next beat. */
    void declareDead() {
      inbox.await(
          "a death",
          () -> {
            NodeRow row = row().orElseThrow();
            return memory.nodes().declareDead(row.incarnation(), row.beat());
          });
    }

    /** Holds its dispatcher until the gate is opened: mail for it is not read. */
    Gate holdDispatcher() {
      Gate reading = gate();
      store.around(
          "fresh",
          call -> {
            reading.pass();
            return call.proceed();
          });
      reading.awaitSomebody();
      return reading;
    }

    /** Waits until its dispatcher has read all its mail, and what it then can read. */
    void awaitTurns() {
      int enough = store.calls("fresh") + 3;
      inbox.await("turns", () -> store.calls("fresh") >= enough);
    }

    /** As if its process had ended: nothing reaches the store any more. */
    void cut() {
      store.around(
          "*",
          call -> {
            throw new StoreException(
                StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_UNREACHABLE, "cut", null);
          });
    }
  }

  /** Somebody who accepts and looks, but handles nothing. */
  private TestInbox outside() {
    return TestInbox.on(
            memory,
            new TestClock(),
            Channel.named("c").on(String.class).handle("h", text -> {}).build())
        .with(it -> it.lanes(LANES))
        .patience(PATIENCE);
  }

  private Gate gate() {
    Gate gate = new Gate();
    gates.add(gate);
    return gate;
  }

  @AfterEach
  void stop() {
    gates.forEach(Gate::open);
    nodes.forEach(node -> node.store.unhook("*").unhook("beat"));
    nodes.forEach(node -> node.inbox.close());
    slot.shutdown();
  }

  private Set<Integer> families() {
    return memory.maintenance().handlers().stream()
        .map(HandlerId::family)
        .collect(Collectors.toSet());
  }

  private List<Cell> cells(Predicate<CellRow> which) {
    return memory.nodes().cells(families()).stream().filter(which).map(CellRow::cell).toList();
  }

  private Collection<Long> shares() {
    return memory.nodes().cells(families()).stream()
        .collect(Collectors.groupingBy(CellRow::owner, Collectors.counting()))
        .values();
  }

  @Test
  void clm19_nodesShareTheCellsFairlyAndTakeOverFromOneThatStops() {
    for (int i = 0; i < 3; i++) {
      new Node(LIVING, received -> {}).inbox.start();
    }
    TestInbox any = nodes.get(0).inbox;
    any.await(
        "three fair shares", () -> shares().stream().sorted().toList().equals(List.of(2L, 3L, 3L)));
    nodes.get(1).inbox.close();
    any.await("two fair shares", () -> shares().stream().toList().equals(List.of(4L, 4L)));
    nodes.get(0).inbox.close();
    nodes.get(2).inbox.await("one share", () -> shares().stream().toList().equals(List.of(8L)));
  }

  @Test
  void b59_twoNodesHandleEverythingOnceAndBothWork() {
    Map<String, AtomicInteger> ran = new ConcurrentHashMap<>();
    List<AtomicInteger> byNode = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      AtomicInteger count = new AtomicInteger();
      byNode.add(count);
      new Node(
              LIVING,
              received -> {
                count.incrementAndGet();
                ran.computeIfAbsent(received.message().id(), none -> new AtomicInteger())
                    .incrementAndGet();
              })
          .inbox.start();
    }
    TestInbox any = nodes.get(0).inbox;
    any.await("fair shares", () -> shares().stream().toList().equals(List.of(4L, 4L)));
    for (int i = 0; i < 400; i++) {
      nodes.get(i % 2).inbox.receive("m" + i, "x");
    }
    any.awaitDrained();
    assertThat(ran).hasSize(400);
    assertThat(ran.values()).allMatch(count -> count.get() == 1);
    assertThat(byNode).allMatch(count -> count.get() > 0);
    assertThat(nodes).noneMatch(node -> node.events.heard(InboxEvent.Refused.class));
  }

  @Test
  void b59_nothingRunsTwiceWhileNodesComeAndGo() {
    Map<String, AtomicInteger> ran = new ConcurrentHashMap<>();
    MessageHandler<String> counting =
        received ->
            ran.computeIfAbsent(received.message().id(), none -> new AtomicInteger())
                .incrementAndGet();
    Node first = new Node(LIVING, counting);
    first.inbox.with(it -> it.stopGrace(ofMinutes(5))).start();
    for (int round = 0; round < 4; round++) {
      Node guest = new Node(LIVING, counting);
      guest.inbox.with(it -> it.stopGrace(ofMinutes(5))).start();
      for (int i = 0; i < 100; i++) {
        first.inbox.receive("m" + round + "-" + i, "x");
      }
      first.inbox.await("a shared load", () -> shares().size() == 2);
      for (int i = 100; i < 200; i++) {
        first.inbox.receive("m" + round + "-" + i, "x");
      }
      guest.inbox.close();
    }
    first.inbox.awaitDrained();
    assertThat(ran).hasSize(800);
    assertThat(ran.values()).allMatch(count -> count.get() == 1);
  }

  @Test
  void b58_b60_b61_aSilentNodeIsTakenOverAndRefusedAfterwards() {
    Gate gate = gate();
    AtomicInteger firstRan = new AtomicInteger();
    AtomicReference<Received<String>> paused = new AtomicReference<>();
    List<String> order = new CopyOnWriteArrayList<>();
    Node first =
        new Node(
            ofSeconds(4),
            received -> {
              firstRan.incrementAndGet();
              paused.set(received);
              gate.passStubbornly();
            });
    first.inbox.start();
    first.inbox.receive("m", "x");
    gate.awaitSomebody();
    first.inbox.await("a heartbeat", () -> !paused.get().stopRequested());

    Gate beats = gate();
    first.store.around(
        "beat",
        call -> {
          beats.pass();
          return call.proceed();
        });
    Node second = new Node(ofSeconds(4), received -> order.add("ran"));
    second.inbox.with(
        it ->
            it.listener(
                event -> {
                  if (event instanceof InboxEvent.NodeDied) {
                    order.add("died");
                  }
                }));
    second.inbox.start();
    second.inbox.receive("m", "x"); // a repeat, so that this inbox knows whom to ask for
    second.inbox.await("m", "h", DeliveryState.COMPLETED);
    assertThat(order).containsExactly("died", "ran");
    assertThat(paused.get().stopRequested()).isTrue();

    // What arrives now is handled by the living node alone.
    for (int i = 0; i < 20; i++) {
      first.inbox.receive("n" + i, "x");
    }
    first.inbox.awaitDrained();
    assertThat(firstRan).hasValue(1);

    gate.open();
    first.inbox.await("a refusal", () -> first.events.heard(InboxEvent.Refused.class));
    assertThat(second.inbox).delivery("m", "h").isCompleted().hasFailedTimes(0);

    beats.open();
    first.inbox.await(
        "the first to be back", () -> shares().stream().toList().equals(List.of(4L, 4L)));
    AtomicInteger sent = new AtomicInteger();
    first.inbox.await(
        "the first to run something",
        () -> {
          first.inbox.receive("o" + sent.incrementAndGet(), "x");
          return firstRan.get() > 1;
        });
    first.inbox.awaitDrained();
  }

  @Test
  void b63_aRepeatWhileAnotherNodeWorksOnItNeitherRunsNorCounts() {
    Gate gate = gate();
    AtomicInteger ran = new AtomicInteger();
    MessageHandler<String> slow =
        received -> {
          ran.incrementAndGet();
          gate.pass();
        };
    Node first = new Node(LIVING, slow);
    first.inbox.start();
    first.inbox.receive("m", "x");
    gate.awaitSomebody();
    Node second = new Node(LIVING, slow);
    second.inbox.start();
    for (int i = 0; i < 10; i++) {
      assertThat(second.inbox.receive("m", "x")).isInstanceOf(Acceptance.Repeat.class);
    }
    second.inbox.await("shares", () -> shares().size() == 2);
    gate.open();
    second.inbox.awaitDrained();
    assertThat(ran).hasValue(1);
    assertThat(second.inbox).delivery("m", "h").isCompleted().hasFailedTimes(0);
  }

  @Test
  void b57_aMessageThatKillsItsNodeIsPoisonedAndNobodyElse() {
    Gate gate = gate();
    AtomicInteger kills = new AtomicInteger();
    TestInbox outside = outside();
    for (int i = 0; i < 30; i++) {
      outside.receive("m" + i, i == 13 ? "killer" : "x");
    }
    for (int n = 0; n < 12; n++) {
      AtomicReference<Node> self = new AtomicReference<>();
      Node node =
          new Node(
              LIVING,
              received -> {
                if (received.payload().equals("killer")) {
                  self.get().cut();
                  kills.incrementAndGet();
                  gate.passStubbornly();
                }
              });
      self.set(node);
      int before = kills.get();
      node.inbox.start();
      outside.await(
          "another death or the end of it", () -> kills.get() > before || outside.open() == 0);
      if (outside.open() == 0) {
        break;
      }
      node.declareDead();
    }
    assertThat(outside)
        .delivery("m13", "h")
        .isPoisonedWith(ErrorCode.HANDLER_CRASHED)
        .hasFailedTimes(0)
        .hasAttempts(3)
        .failedWithMessage("'h' ended its process 3 times");
    assertThat(outside).has(29, DeliveryState.COMPLETED).has(1, DeliveryState.POISONED);
    // Once unmarked, once marked among others, three times alone.
    assertThat(kills).hasValue(5);
    Node last = nodes.get(nodes.size() - 1);
    last.inbox.await("the event", () -> last.events.heard(InboxEvent.Poisoned.class));
    assertThat(last.events.of(InboxEvent.Poisoned.class))
        .singleElement()
        .satisfies(event -> assertThat(event.message().id()).isEqualTo("m13"));
  }

  @Test
  void b57_suspectsThatAreInnocentRunAloneAndComplete() {
    Gate gate = gate();
    Node first =
        new Node(
            LIVING,
            received -> {
              gate.passStubbornly();
            });
    TestInbox outside = outside();
    for (int i = 0; i < 12; i++) {
      outside.receive("m" + i, "x");
    }
    leaveUncleanly();
    Set<Long> marked = ConcurrentHashMap.newKeySet();
    first.store.around(
        "mark",
        call -> {
          Object answer = call.proceed();
          ((Collection<?>) call.argument(0)).forEach(row -> marked.add(((Delivery) row).seq()));
          return answer;
        });
    first.inbox.with(it -> it.concurrency(12)).start();
    first.inbox.await("marks of all", () -> marked.size() == 12);
    gate.awaitSomebody();
    first.cut();
    first.declareDead();

    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    List<Integer> attempts = new CopyOnWriteArrayList<>();
    Node second =
        new Node(
            LIVING,
            received -> {
              most.accumulateAndGet(inside.incrementAndGet(), Math::max);
              attempts.add(received.attempt());
              Thread.yield();
              inside.decrementAndGet();
            });
    second.inbox.start();
    outside.awaitDrained();
    assertThat(outside).hasNoPoison().has(12, DeliveryState.COMPLETED);
    assertThat(most).hasValue(1);
    assertThat(attempts).hasSize(12).containsOnly(1);
    assertThat(outside.deliveries()).allMatch(view -> view.crashes() == 0);
  }

  @Test
  void onlyWhatHasASlotIsMarked() {
    int slots = 3;
    Gate gate = gate();
    Node node = new Node(LIVING, received -> gate.passStubbornly());
    TestInbox outside = outside();
    for (int i = 0; i < 50; i++) {
      outside.receive("m" + i, "x");
    }
    leaveUncleanly();
    node.inbox.with(it -> it.concurrency(slots)).start();
    gate.awaitSomebody();
    node.awaitTurns();

    assertThat(marked()).hasSizeBetween(1, slots);
    gate.open();
    outside.awaitDrained();
    assertThat(outside).has(50, DeliveryState.COMPLETED);
  }

  private List<Long> marked() {
    List<Range> all = cells(any -> true).stream().map(cell -> Range.after(cell, 0, 100)).toList();
    return memory.deliveries().fresh(all).stream().map(Delivery::mark).filter(m -> m != 0).toList();
  }

  @Test
  void marksOfUnknownNodesMakeNoSuspects() {
    TestInbox outside = outside();
    for (int i = 0; i < 4; i++) {
      outside.receive("m" + i, "x");
    }
    List<Range> all = cells(any -> true).stream().map(cell -> Range.after(cell, 0, 9)).toList();
    memory.deliveries().mark(memory.deliveries().fresh(all), 4711, false);
    Node node = new Node(LIVING, received -> {});

    node.inbox.start();
    outside.awaitDrained();

    assertThat(outside).has(4, DeliveryState.COMPLETED);
    assertThat(node.store.calls("mark")).as("lone runs").isZero();
  }

  @Test
  void aProbationEndsWhenNothingIsLeftOfWhatTheDeadNodeHad() {
    Node node = new Node(LIVING, received -> {});
    TestInbox outside = outside();
    outside.receive("m", "x");
    leaveUncleanly();
    assertThat(cells(CellRow::unclean)).hasSize(LANES);

    node.inbox.start();

    node.inbox.await("the end of all probations", () -> cells(CellRow::unclean).isEmpty());
    assertThat(outside).has(1, DeliveryState.COMPLETED);
  }

  @Test
  void aCleanStopEndsAProbation() {
    Gate gate = gate();
    Node node = new Node(LIVING, received -> gate.pass());
    TestInbox outside = outside();
    for (int i = 0; i < 50; i++) {
      outside.receive("m" + i, "x");
    }
    leaveUncleanly();
    node.inbox.with(it -> it.stopGrace(ofMinutes(5))).start();
    gate.awaitSomebody();
    assertThat(cells(CellRow::unclean)).isNotEmpty();

    Closing.cuttingAtOnce(node.inbox);

    assertThat(cells(CellRow::unclean)).isEmpty();
  }

  /** A node that had all cells and was declared dead: the next one marks what it starts. */
  private void leaveUncleanly() {
    var families =
        memory.maintenance().handlers().stream().map(HandlerId::family).collect(Collectors.toSet());
    long ghost = memory.nodes().join("ghost", families);
    memory.nodes().take(ghost, memory.nodes().cells(families).stream().map(CellRow::cell).toList());
    memory.nodes().declareDead(ghost, 0);
  }

  @Test
  void aCellThatBelongsToAnotherByTheStoreIsNotWorkedOn() {
    AtomicInteger ran = new AtomicInteger();
    Node node = new Node(LIVING, received -> ran.incrementAndGet());
    node.inbox.start();
    var families =
        memory.maintenance().handlers().stream().map(HandlerId::family).collect(Collectors.toSet());
    var cells = memory.nodes().cells(families).stream().map(CellRow::cell).toList();
    node.store.around("take", call -> List.of());
    memory.nodes().giveBack(memory.nodes().nodes().get(0).incarnation(), cells);
    long ghost = memory.nodes().join("ghost", families);
    assertThat(memory.nodes().take(ghost, cells)).hasSize(LANES);
    node.awaitLooks(3); // one may be under way, one ends, and one begins after that

    node.inbox.receive("m", "x");
    node.awaitLooks(5);
    assertThat(ran).hasValue(0);

    memory.nodes().stopped(ghost);
    node.store.unhook("take");
    node.inbox.awaitDrained();
    assertThat(ran).hasValue(1);
  }

  @Test
  void whatWasReadBeforeADeathIsNotStartedByTheNextIncarnation() throws Exception {
    Gate running = gate();
    List<Long> tokens = new CopyOnWriteArrayList<>();
    Node node =
        new Node(
            LIVING,
            Channel.named("c")
                .on(String.class)
                .handleMessage(
                    "h",
                    received -> {
                      tokens.add(received.laneToken());
                      running.passStubbornly();
                    },
                    atMost(1))
                .build());
    TestInbox outside = outside();
    for (int i = 0; i < 10; i++) {
      outside.receive("m" + i, "x");
    }
    node.inbox.with(it -> it.executor(slot)).start();
    running.awaitSomebody(); // with the others behind it
    Gate reading = node.holdDispatcher();

    node.store.around("take", call -> List.of());
    long ghost = memory.nodes().join(GHOST, families());
    long first = node.incarnation();
    node.declareDead();
    assertThat(memory.nodes().take(ghost, cells(any -> true))).hasSize(LANES);
    node.inbox.await("the next incarnation", () -> node.incarnation() > first);
    node.awaitLooks(2);
    running.open();
    slot.submit(() -> {}).get();
    slot.submit(() -> {}).get(); // behind the second turn of the slot
    assertThat(tokens).as("begun while another has the cells").hasSize(1);

    memory.nodes().stopped(ghost);
    node.store.unhook("take");
    reading.open();
    outside.awaitDrained();
    assertThat(tokens).hasSize(10);
    assertThat(tokens.subList(1, 10)).allMatch(token -> token > tokens.get(0));
  }

  @Test
  void aCellThatIsGivenBackWhileTheNodeLooksIsNotTakenForItsOwn() {
    AtomicInteger ran = new AtomicInteger();
    Node node = new Node(LIVING, received -> ran.incrementAndGet());
    node.inbox.start();
    node.inbox.await("all cells", () -> shares().stream().toList().equals(List.of(8L)));
    Gate reading = node.holdDispatcher();
    long ghost = memory.nodes().join(GHOST, families());
    int beats = node.store.calls("beat") + 3;
    node.inbox.await("a cell to be wanted back", () -> node.store.calls("beat") >= beats);

    Gate looked = gate();
    Gate next = gate();
    node.store.around(
        "cells",
        call -> {
          if (looked.somebodyCame()) {
            next.pass();
            return call.proceed();
          }
          Object seen = call.proceed();
          looked.pass();
          return seen;
        });
    looked.awaitSomebody();
    reading.open();
    node.inbox.await("a free cell", () -> !cells(row -> row.owner() == 0).isEmpty());
    node.awaitTurns();
    List<Cell> free = cells(row -> row.owner() == 0);
    assertThat(memory.nodes().take(ghost, free)).hasSameSizeAs(free);
    looked.open();
    next.awaitSomebody();

    TestInbox outside = outside();
    for (int i = 0; i < 100; i++) {
      outside.receive("m" + i, "x");
    }
    node.awaitTurns();
    List<Range> ranges = free.stream().map(cell -> Range.after(cell, 0, 100)).toList();
    int theirs = memory.deliveries().fresh(ranges).size();
    assertThat(theirs).as("left for the other").isPositive();
    node.inbox.await("its own", () -> ran.get() == 100 - theirs);

    memory.nodes().stopped(ghost);
    next.open();
    outside.awaitDrained();
    assertThat(ran).hasValue(100);
  }

  @Test
  void aLaneIsWorkedOnAfterTheDatabaseHasForgottenThatItWasGivenBack() {
    Set<String> ran = ConcurrentHashMap.newKeySet();
    MessageHandler<String> handler = received -> ran.add(received.message().id());
    Node node = new Node(LIVING, handler);
    node.inbox.start();
    node.inbox.await("all cells", () -> shares().stream().toList().equals(List.of(8L)));
    AtomicBoolean forgotten = new AtomicBoolean();
    node.store.around(
        "giveBack",
        call -> forgotten.compareAndSet(false, true) ? null : call.proceed()); // as if never made

    new Node(LIVING, handler).inbox.start();
    node.inbox.await("a give-back that is forgotten", forgotten::get);
    for (int i = 0; i < 200; i++) {
      node.inbox.receive("m" + i, "x");
    }

    node.inbox.awaitDrained();
    assertThat(ran).hasSize(200);
    node.inbox.await("fair shares", () -> shares().stream().toList().equals(List.of(4L, 4L)));
  }

  @Test
  void whatAnIncarnationWasAskedToGiveBackIsNotTakenFromTheNext() {
    Node node = new Node(LIVING, received -> {});
    node.inbox.start();
    node.inbox.await("all cells", () -> shares().stream().toList().equals(List.of(8L)));
    Gate reading = node.holdDispatcher();
    long ghost = memory.nodes().join(GHOST, families());
    int beats = node.store.calls("beat") + 3;
    node.inbox.await("a cell to be wanted back", () -> node.store.calls("beat") >= beats);
    memory.nodes().stopped(ghost);
    node.declareDead();
    node.inbox.await(
        "the next incarnation",
        () -> cells(row -> row.owner() == node.incarnation()).size() == LANES);

    Gate looks = gate();
    node.store.around(
        "cells",
        call -> {
          looks.pass();
          return call.proceed();
        });
    looks.awaitSomebody();
    reading.open();
    node.awaitTurns();
    assertThat(cells(row -> row.owner() == node.incarnation())).hasSize(LANES);
  }

  @Test
  void b55_whatIsTakenWhileANodeBeginsToStopIsFreeForOthersAtOnce() {
    Gate attempt = gate();
    Node node = nodeThatStopsSlowly(attempt);
    TestInbox outside = outside();
    for (int i = 0; i < 40; i++) {
      outside.receive("m" + i, "x");
    }
    long ghost = memory.nodes().join(GHOST, families());
    memory.nodes().take(ghost, cells(any -> true).subList(0, LANES / 2));
    node.inbox.start();
    attempt.awaitSomebody();

    Gate taking = gate();
    node.store.around(
        "take",
        call -> {
          Object taken = call.proceed();
          taking.pass();
          return taken;
        });
    memory.nodes().stopped(ghost);
    taking.awaitSomebody();
    new Thread(node.inbox::close).start();
    node.inbox.await("a stop", () -> node.row().orElseThrow().state() == NodeRow.State.STOPPING);
    taking.open();

    node.inbox.await("free cells", () -> cells(row -> row.owner() == 0).size() == LANES - 1);
  }

  @Test
  void b55_aNodeThatIsStoppedWhileItStartsAgainDoesNotCountAsLiving() {
    Gate attempt = gate();
    Node node = nodeThatStopsSlowly(attempt);
    node.inbox.start();
    node.inbox.receive("m", "x");
    attempt.awaitSomebody();

    Gate joining = gate();
    node.store.around(
        "join",
        call -> {
          joining.pass();
          return call.proceed();
        });
    node.declareDead();
    joining.awaitSomebody();
    new Thread(node.inbox::close).start();
    node.inbox.await("a stop", () -> node.store.calls("stopping") > 0);
    joining.open();

    node.inbox.await(
        "its next incarnation to be stopping",
        () -> node.row().filter(row -> row.state() == NodeRow.State.STOPPING).isPresent());
  }

  @Test
  void b55_whatAStoppingNodeHasFreedIsTakenAlthoughItsFirstReportHasFailed() {
    Gate attempt = gate();
    Node node = nodeThatStopsSlowly(attempt);
    node.inbox.start();
    node.inbox.receive("m", "x");
    attempt.awaitSomebody();
    Node other = new Node(LIVING, received -> {});
    other.inbox.start();
    node.inbox.await("fair shares", () -> shares().stream().toList().equals(List.of(4L, 4L)));
    AtomicBoolean failed = new AtomicBoolean();
    node.store.around(
        "stopping",
        call -> {
          if (failed.compareAndSet(false, true)) {
            throw new StoreException(
                StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_UNREACHABLE, "once", null);
          }
          return call.proceed();
        });

    new Thread(node.inbox::close).start();

    other.inbox.await(
        "all lanes but the one with the attempt",
        () -> shares().stream().sorted().toList().equals(List.of(1L, LANES - 1L)));
    assertThat(failed).isTrue();
  }

  /** One attempt at a time, which ends when the gate is opened. */
  private Node nodeThatStopsSlowly(Gate attempt) {
    Node node =
        new Node(
            LIVING,
            Channel.named("c")
                .on(String.class)
                .handle("h", text -> attempt.passStubbornly(), atMost(1))
                .build());
    node.inbox.with(it -> it.stopGrace(ofMinutes(5)));
    return node;
  }

  @Test
  void b36_whatADeadNodeHadFinishedButNotWrittenRunsAgain() {
    AtomicInteger ran = new AtomicInteger();
    AtomicReference<Node> self = new AtomicReference<>();
    Node first =
        new Node(
            LIVING,
            received -> {
              ran.incrementAndGet();
              self.get().cut();
            });
    self.set(first);
    TestInbox outside = outside();
    outside.receive("m", "x");
    first.inbox.start();
    first.inbox.await("it to run", () -> ran.get() == 1);
    first.declareDead();
    Node second = new Node(LIVING, received -> ran.incrementAndGet());
    second.inbox.start();
    outside.await("m", "h", DeliveryState.COMPLETED);
    assertThat(ran).hasValue(2);
    assertThat(outside).delivery("m", "h").hasFailedTimes(0);
  }

  @Test
  void b31_aKeyThatAnotherLivingNodeKnowsIsNotUnknown() {
    Gate gate = gate();
    Node old =
        new Node(
            LIVING, Channel.named("c").on(String.class).handle("old", text -> gate.pass()).build());
    Node fresh =
        new Node(LIVING, Channel.named("c").on(String.class).handle("new", text -> {}).build());
    fresh.inbox.with(it -> it.holdUnknownKeys(ZERO));
    old.inbox.start();
    old.inbox.receive("m", "x");
    gate.awaitSomebody();
    fresh.inbox.start();
    int beats = fresh.store.calls("beat");
    fresh.inbox.await("some looks", () -> fresh.store.calls("beat") > beats + 3);
    assertThat(old.inbox).delivery("m", "old").isPending();
    gate.open();
    old.inbox.await("m", "old", DeliveryState.COMPLETED);

    // Once nobody knows it, it is.
    old.inbox.close();
    old.inbox.receive("n", "x");
    old.inbox.await("n", "old", DeliveryState.POISONED);
    assertThat(old.inbox).delivery("n", "old").isPoisonedWith(ErrorCode.HANDLER_KEY_UNKNOWN);
  }

  @Test
  void lanesWithoutAttemptsGoToAnotherNodeWhileLongAttemptsRunInOthers() {
    Gate attempts = gate();
    Set<String> ran = ConcurrentHashMap.newKeySet();
    Node first = nodeWithLongAttempts(attempts, ran);
    startLongAttempts(first, ran, LANES / 2);

    new Node(LIVING, handlerWithLongAttempts(attempts, ran)).inbox.start();

    first.inbox.await("fair shares", () -> shares().stream().toList().equals(List.of(4L, 4L)));
  }

  @Test
  void aLaneThatIsWantedByAnotherNodeIsWorkedOnWhileALongAttemptRunsInIt() {
    Gate attempts = gate();
    Set<String> ran = ConcurrentHashMap.newKeySet();
    Node first = nodeWithLongAttempts(attempts, ran);
    int sent = startLongAttempts(first, ran, LANES);
    Node guest = new Node(LIVING, handlerWithLongAttempts(attempts, ran));
    guest.inbox.start();
    first.awaitLooks(60); // which have asked for each of its lanes

    for (int i = 0; i < 200; i++) {
      first.inbox.receive("short" + i, "x");
    }
    first.inbox.await("the short ones", () -> ran.size() == sent + 200);
    guest.inbox.close();
    for (int i = 200; i < 400; i++) {
      first.inbox.receive("short" + i, "x");
    }
    first.inbox.await("more short ones", () -> ran.size() == sent + 400);

    new Node(LIVING, handlerWithLongAttempts(attempts, ran)).inbox.start();
    attempts.open();
    first.inbox.awaitDrained();
    first.inbox.await("fair shares", () -> shares().stream().toList().equals(List.of(4L, 4L)));
    assertThat(ran).as("none ran twice").hasSize(sent + 400);
    assertThat(nodes).noneMatch(node -> node.events.heard(InboxEvent.Refused.class));
  }

  @Test
  void sharesGetFairWhileMessagesKeepComing() {
    AtomicInteger ran = new AtomicInteger();
    MessageHandler<String> counting = received -> ran.incrementAndGet();
    Node first = new Node(LIVING, counting);
    first.inbox.start();
    AtomicInteger sent = new AtomicInteger();
    Runnable load =
        () -> {
          int missing = ran.get() + 200 - sent.get(); // a goal that moves might never be reached
          for (int i = 0; i < missing; i++) {
            first.inbox.receive("m" + sent.incrementAndGet(), "x");
          }
        };
    load.run();
    new Node(LIVING, counting).inbox.start();

    first.inbox.await(
        "fair shares",
        () -> {
          load.run();
          return shares().stream().toList().equals(List.of(4L, 4L));
        });
    first.inbox.awaitDrained();
    assertThat(ran).hasValue(sent.get());
  }

  @Test
  void keysStayOrderedInALaneThatCouldNotGoToAnotherNode() {
    Gate attempts = gate();
    Map<String, List<Integer>> byKey = new ConcurrentHashMap<>();
    Set<String> inside = ConcurrentHashMap.newKeySet();
    AtomicInteger overlaps = new AtomicInteger();
    MessageHandler<String> ordered =
        received -> {
          String[] keyAndNumber = received.payload().split(":");
          if (!inside.add(keyAndNumber[0])) {
            overlaps.incrementAndGet();
          }
          if (keyAndNumber[1].equals("0") && keyAndNumber[0].startsWith("long")) {
            attempts.passStubbornly();
          }
          inside.remove(keyAndNumber[0]);
          byKey
              .computeIfAbsent(keyAndNumber[0], none -> new CopyOnWriteArrayList<>())
              .add(Integer.valueOf(keyAndNumber[1]));
        };
    Node first = new Node(LIVING, ordered);
    first.inbox.with(it -> it.concurrency(64)).start();
    for (int number = 0; number < 3; number++) {
      for (int key = 0; key < 32; key++) {
        receiveOrdered(first, "long" + key, number);
      }
    }
    first.inbox.await("long attempts", () -> inside.size() == 32);
    new Node(LIVING, ordered).inbox.start();
    for (int number = 0; number < 10; number++) {
      for (int key = 0; key < 16; key++) {
        receiveOrdered(first, "short" + key, number);
        receiveOrdered(first, "long" + key, number + 3);
      }
      first.awaitLooks(3);
    }
    first.inbox.await(
        "the short ones",
        () ->
            byKey.values().stream().filter(done -> done.size() == 10).count() == 16
                && byKey.size() == 16);

    attempts.open();
    first.inbox.awaitDrained();
    assertThat(byKey).hasSize(48);
    assertThat(byKey.values())
        .allSatisfy(done -> assertThat(done).isSorted().doesNotHaveDuplicates());
    assertThat(overlaps).hasValue(0);
  }

  private static void receiveOrdered(Node node, String key, int number) {
    String id = key + "-" + number;
    node.inbox.receive("c", Message.of(id, key + ":" + number).orderedBy(key));
  }

  /** Adds the id of what has begun; "long" ones end when the gate is opened. */
  private static MessageHandler<String> handlerWithLongAttempts(Gate gate, Set<String> begun) {
    return received -> {
      String id = received.message().id();
      if (!begun.add(id)) {
        begun.add(id + " again");
      }
      if (received.payload().equals("long")) {
        gate.passStubbornly();
      }
    };
  }

  private Node nodeWithLongAttempts(Gate gate, Set<String> begun) {
    Node node = new Node(LIVING, handlerWithLongAttempts(gate, begun));
    node.inbox.with(it -> it.concurrency(500)).start();
    return node;
  }

  /** Until one runs in so many lanes at least; answers how many there are. */
  private int startLongAttempts(Node node, Set<String> begun, int lanes) {
    int sent = 0;
    while (lanesWithMessages() < lanes) {
      node.inbox.receive("long" + sent, "long");
      sent++;
      int all = sent;
      node.inbox.await("a long attempt", () -> begun.size() == all);
    }
    return sent;
  }

  private int lanesWithMessages() {
    List<Range> all = cells(any -> true).stream().map(cell -> Range.after(cell, 0, 1)).toList();
    return memory.deliveries().fresh(all).size();
  }

  @Test
  void b64_aKeyStaysOrderedWhenItsLaneChangesHands() {
    List<Integer> done = new CopyOnWriteArrayList<>();
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    MessageHandler<String> ordered =
        received -> {
          most.accumulateAndGet(inside.incrementAndGet(), Math::max);
          if (received.attempt() == 1 && received.payload().endsWith("7")) {
            inside.decrementAndGet();
            throw new IllegalStateException("once");
          }
          done.add(Integer.valueOf(received.payload()));
          inside.decrementAndGet();
        };
    Node first = new Node(LIVING, ordered);
    first.inbox.with(it -> it.stopGrace(ofMinutes(5))).start();
    int next = 0;
    for (int round = 0; round < 5; round++) {
      Node guest = new Node(LIVING, ordered);
      guest.inbox.with(it -> it.stopGrace(ofMinutes(5))).start();
      for (int i = 0; i < 60; i++, next++) {
        String id = "m" + next;
        first.inbox.receive("c", Message.of(id, String.valueOf(next)).orderedBy("k"));
      }
      first.inbox.close();
      first.inbox.start();
      for (int i = 0; i < 60; i++, next++) {
        String id = "m" + next;
        first.inbox.receive("c", Message.of(id, String.valueOf(next)).orderedBy("k"));
      }
      guest.inbox.close();
    }
    first.inbox.awaitDrained();
    assertThat(done).isSorted().doesNotHaveDuplicates().hasSize(600);
    assertThat(most).hasValue(1);
  }
}
