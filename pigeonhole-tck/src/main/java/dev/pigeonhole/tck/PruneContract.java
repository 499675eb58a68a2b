package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.StoredMessage;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What retention may forget, and what it must not. */
abstract class PruneContract extends StoreFixture {
  private HandlerId a;
  private HandlerId b;

  PruneContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  /** Judges as it is told, and remembers what it saw. */
  private static class Recorder extends Judge {
    final List<Finished> seen = new ArrayList<>();
    final List<StoredMessage> archived;
    Walk walk = Walk.INBOX;
    Duration youngest = Duration.ZERO;
    Duration betweenRounds = Duration.ZERO;
    Duration keepOperations = Duration.ofDays(1);

    Recorder(Fate verdict) {
      this(verdict, new ArrayList<>());
    }

    private Recorder(Fate verdict, List<StoredMessage> archived) {
      super(message -> verdict, archived::addAll);
      this.archived = archived;
    }

    @Override
    public Walk walk() {
      return walk;
    }

    @Override
    public Duration youngest() {
      return youngest;
    }

    @Override
    public Duration betweenRounds() {
      return betweenRounds;
    }

    @Override
    public Fate judge(Finished message) {
      seen.add(message);
      return super.judge(message);
    }

    @Override
    public Duration keepOperations() {
      return keepOperations;
    }
  }

  private static Recorder deleting() {
    return new Recorder(Pruning.Fate.DELETE);
  }

  private Pruning.Step prune(Pruning pruning) {
    return store.maintenance().prune(pruning, 100);
  }

  @Test
  void whatEverybodyHasFinishedIsJudgedByItsReceipts() {
    long seq = stored(message("m").to(a, b).build());
    clock.advance(Duration.ofMinutes(1));
    settle(ready(a, seq), completed());
    clock.advance(Duration.ofMinutes(1));
    settle(ready(b, seq), completed());
    Recorder judge = deleting();

    assertThat(prune(judge)).isEqualTo(new Pruning.Step(1, 0, false));

    assertThat(judge.seen)
        .singleElement()
        .satisfies(
            it -> {
              assertThat(it.now()).isEqualTo(clock.now());
              assertThat(it.receivedAt()).isEqualTo(clock.now().minusSeconds(120));
              assertThat(it.completed())
                  .isEqualTo(
                      Map.of(a.family(), clock.now().minusSeconds(60), b.family(), clock.now()));
              assertThat(it.poisoned()).isEmpty();
              assertThat(it.hasContent()).isTrue();
            });
    assertThat(judge.archived).extracting(StoredMessage::id).containsExactly("m");
    assertThat(store.admin().messages()).isZero();
    assertThat(store.admin().find(SOURCE, "m", a.family())).isEmpty();
    assertThat(store.deliveries().load(List.of(seq))).isEmpty();
  }

  @Test
  void whatWasForgottenIsNew() {
    settle(delivered("m", a), completed());
    prune(deleting());

    long again = stored(message("m").to(a).build());

    settle(ready(a, again), completed());
  }

  @Test
  void whatIsNotDueIsNotJudged() {
    settle(delivered("due", a), completed());
    settle(delivered("not yet", a), completed());
    settle(delivered("due as well", a), completed());
    AtomicInteger asked = new AtomicInteger();
    Recorder judge =
        new Recorder(Pruning.Fate.DELETE) {
          @Override
          public boolean due(String type, Instant receivedAt, Instant now, boolean hasContent) {
            assertThat(receivedAt).isEqualTo(clock.now());
            assertThat(now).isEqualTo(clock.now());
            assertThat(hasContent).isTrue();
            return asked.incrementAndGet() != 2;
          }
        };

    assertThat(prune(judge)).isEqualTo(new Pruning.Step(2, 0, false));

    assertThat(judge.archived).extracting(StoredMessage::id).containsExactly("due", "due as well");
    assertThat(store.admin().messages()).isEqualTo(1);
  }

  @Test
  void b65_clm12_whatIsOpenIsNeverJudged() {
    delivered("fresh", a);
    settle(delivered("retry", a), failedFor(Duration.ofHours(1)));
    settle(delivered("blocked", a), blocked());
    long half = stored(message("half").to(a, b).build());
    settle(ready(a, half), completed());
    clock.advance(Duration.ofDays(10_000));
    Recorder judge = deleting();

    assertThat(prune(judge)).isEqualTo(new Pruning.Step(0, 0, false));

    assertThat(judge.seen).isEmpty();
    assertThat(store.admin().messages()).isEqualTo(4);
  }

  @Test
  void hd05_poisonIsToldAndKeptUnlessTheJudgeSaysOtherwise() {
    Delivery delivery = failed(delivered("m", a), a, 2);
    settle(delivery, poisoned());
    Recorder keeping = new Recorder(Pruning.Fate.KEEP);

    prune(keeping);
    assertThat(keeping.seen.get(0).poisoned()).isEqualTo(Map.of(a.family(), clock.now()));
    assertThat(store.admin().poisoned(null, 10)).hasSize(1);

    assertThat(prune(deleting()).deleted()).isEqualTo(1);
    assertThat(store.admin().poisoned(null, 10)).isEmpty();
    stored(message("m").to(a).build());
    assertThat(view("m", a).lastFailure()).isEmpty();
  }

  @Test
  void aSecondCopyThatWaitsForSomebodyKeepsItsMessage() {
    settle(delivered("m", a), completed());
    assertThat(accept(message("m").content("other").onConflict(OnConflict.KEEP).to(a).build()))
        .isInstanceOf(AcceptResult.Differs.class);

    assertThat(prune(deleting()).deleted()).isZero();
  }

  @Test
  void aMessageThatNobodyTookIsJudgedByItsReceipt() {
    stored(message("m").build());
    Recorder judge = deleting();

    assertThat(prune(judge).deleted()).isEqualTo(1);
    assertThat(judge.seen.get(0).completed()).isEmpty();
  }

  @Test
  void contentGoesAloneAndTheMessageStaysKnown() {
    Delivery delivery = delivered("m", a);
    settle(delivery, completed());

    assertThat(prune(new Recorder(Pruning.Fate.DROP_CONTENT)))
        .isEqualTo(new Pruning.Step(0, 1, false));

    assertThat(load(delivery.seq()).content()).isNull();
    assertThat(load(delivery.seq()).contentHash()).isNotEmpty();
    known(message("m").to(a).build());
    Recorder again = deleting();
    prune(again);
    assertThat(again.seen.get(0).hasContent()).isFalse();
  }

  @Test
  void aWalkJudgesItsOwnMessagesAlone() {
    stored(message("m-1").type("accepted").build());
    stored(message("m-2").type("guarded").by(NewMessage.GUARD).build());

    assertThat(judgedIn(Pruning.Walk.INBOX)).containsExactly("accepted");
    assertThat(judgedIn(Pruning.Walk.GUARDS)).containsExactly("guarded");
    assertThat(judgedIn(Pruning.Walk.ANSWERS)).isEmpty();
  }

  private List<String> judgedIn(Pruning.Walk walk) {
    Recorder judge = new Recorder(Pruning.Fate.KEEP);
    judge.walk = walk;
    prune(judge);
    return judge.seen.stream().map(Pruning.Finished::type).toList();
  }

  @Test
  void whatIsTooYoungIsNotLookedAt() {
    settle(delivered("old", a), completed());
    clock.advance(Duration.ofHours(1));
    settle(delivered("young", a), completed());
    Recorder judge = deleting();
    judge.youngest = Duration.ofMinutes(30);

    assertThat(prune(judge).deleted()).isEqualTo(1);
    assertThat(judge.seen).hasSize(1);
    assertThat(view("young", a)).isNotNull();
  }

  @Test
  void stepsWalkOverAllMessagesAndBeginAnewAfterAPause() {
    for (int i = 0; i < 5; i++) {
      settle(delivered("m" + i, a), completed());
    }
    Recorder judge = new Recorder(Pruning.Fate.KEEP);
    judge.betweenRounds = Duration.ofMinutes(1);

    assertThat(store.maintenance().prune(judge, 2).more()).isTrue();
    assertThat(store.maintenance().prune(judge, 2).more()).isTrue();
    assertThat(store.maintenance().prune(judge, 2).more()).isFalse();
    assertThat(judge.seen).hasSize(5);

    assertThat(store.maintenance().prune(judge, 2).more()).isFalse();
    assertThat(judge.seen).hasSize(5);
    clock.advance(Duration.ofMinutes(1));
    assertThat(store.maintenance().prune(judge, 2).more()).isTrue();
    assertThat(judge.seen).hasSize(7);
  }

  @Test
  void aWalkEndsBehindAStepThatFoundOnlyYoungOnes() {
    settle(delivered("old", a), completed());
    clock.advance(Duration.ofHours(1));
    for (int i = 0; i < 5; i++) {
      settle(delivered("young" + i, a), completed());
    }
    Recorder judge = deleting();
    judge.youngest = Duration.ofMinutes(30);

    assertThat(store.maintenance().prune(judge, 2)).isEqualTo(new Pruning.Step(1, 0, true));
    assertThat(store.maintenance().prune(judge, 2)).isEqualTo(new Pruning.Step(0, 0, false));
  }

  @Test
  void aRoundByAClockThatWasAheadDoesNotHoldUpTheNext() {
    Recorder judge = deleting();
    judge.betweenRounds = Duration.ofMinutes(1);
    ahead = Duration.ofDays(365);
    prune(judge);
    ahead = Duration.ZERO;
    settle(delivered("m", a), completed());

    assertThat(prune(judge).deleted()).isEqualTo(1);
  }

  @Test
  void messagesThatAClockHasDatedAheadAreWalkedOver() {
    ahead = Duration.ofDays(365);
    settle(delivered("ahead-0", a), completed());
    settle(delivered("ahead-1", a), completed());
    settle(delivered("ahead-2", a), completed());
    ahead = Duration.ZERO;
    settle(delivered("old-0", a), completed());
    settle(delivered("old-1", a), completed());
    clock.advance(Duration.ofHours(1));
    Recorder judge = deleting();
    judge.youngest = Duration.ofMinutes(30);

    assertThat(store.maintenance().prune(judge, 2)).isEqualTo(new Pruning.Step(0, 0, true));
    assertThat(store.maintenance().prune(judge, 2)).isEqualTo(new Pruning.Step(1, 0, true));
    assertThat(store.maintenance().prune(judge, 2)).isEqualTo(new Pruning.Step(1, 0, false));
    assertThat(store.admin().messages()).isEqualTo(3);
  }

  @Test
  void aChangeToManyIsRememberedForAWhileAfterItHasFinished() {
    AdminChange retry = new AdminChange(AdminChange.Action.RETRY, null, "ada", "because");
    store.admin().step(begin("finished"), retry, List.of(), true);
    begin("cut");
    Recorder judge = new Recorder(Pruning.Fate.KEEP);
    judge.keepOperations = Duration.ofDays(90);
    clock.advance(Duration.ofDays(90).minusSeconds(1));

    prune(judge);
    assertThat(begin("finished").finished()).isTrue();

    store.admin().step(begin("younger"), retry, List.of(), true);
    clock.advance(Duration.ofSeconds(1));
    prune(judge);
    assertThat(store.admin().operation("finished")).isEmpty();
    assertThat(store.admin().operation("cut")).isPresent(); // somebody may still go on with it
    assertThat(store.admin().operation("younger")).isPresent();
    assertThat(begin("finished").finished()).as("its name is free").isFalse();
  }

  private Operation begin(String name) {
    return store.admin().begin(Operation.begun(name, "what"), "ada", "because");
  }

  @Test
  void anArchiveThatFailsKeepsEverything() {
    settle(delivered("m", a), completed());
    Pruning failing =
        new Judge(
            message -> Pruning.Fate.DELETE,
            messages -> {
              throw new IllegalStateException("tape is full");
            });

    assertThatThrownBy(() -> prune(failing)).hasStackTraceContaining("tape is full");

    assertThat(view("m", a)).isNotNull();
    assertThat(prune(deleting()).deleted()).isEqualTo(1);
  }

  @Test
  void b67_op02_whatIsOldGoesInSmallSteps() {
    for (int i = 0; i < 5; i++) {
      settle(delivered("m" + i, a), completed());
    }
    Recorder judge = deleting();
    judge.betweenRounds = Duration.ofMinutes(1);

    assertThat(store.maintenance().prune(judge, 2)).isEqualTo(new Pruning.Step(2, 0, true));
    assertThat(store.admin().messages()).isEqualTo(3);
    assertThat(store.maintenance().prune(judge, 2)).isEqualTo(new Pruning.Step(2, 0, true));
    assertThat(store.maintenance().prune(judge, 2)).isEqualTo(new Pruning.Step(1, 0, false));
    assertThat(store.admin().messages()).isZero();
  }
}
