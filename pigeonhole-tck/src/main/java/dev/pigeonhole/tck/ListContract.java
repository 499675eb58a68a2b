package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Failure;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.admin.MessageDetail;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.MessageFilter;
import dev.pigeonhole.store.MessageState;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.PoisonSample;
import dev.pigeonhole.store.Slice;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What operators find, and where a page ends. */
abstract class ListContract extends StoreFixture {
  private static final Set<DeliveryState> ROWS =
      EnumSet.complementOf(EnumSet.of(DeliveryState.HELD, DeliveryState.PAUSED));

  private HandlerId a;
  private HandlerId b;

  ListContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  private static DeliveryFilter in(DeliveryState... states) {
    return new DeliveryFilter(
        states.length == 0 ? ROWS : Set.of(states), null, null, null, null, null, null, null, null);
  }

  private static DeliveryFilter of(
      @Nullable Set<Integer> handlers,
      @Nullable String type,
      @Nullable String source,
      @Nullable String id) {
    return new DeliveryFilter(ROWS, handlers, type, null, source, id, null, null, null);
  }

  private List<String> found(DeliveryFilter filter) {
    List<Listed<DeliveryView>> all = store.admin().deliveries(filter, new Slice(null, true, MANY));
    assertThat(store.admin().count(filter, MANY)).isEqualTo(all.size());
    return all.stream().map(each -> each.view().message().id()).toList();
  }

  private void oneOfEach() {
    delivered("pending", a);
    settle(delivered("scheduled", a), failedFor(Duration.ofHours(1)));
    settle(delivered("due", a), failedFor(Duration.ZERO));
    Delivery head = ready(a, stored(message("head").ordered("k").to(a).build()));
    Delivery blocked = ready(a, stored(message("blocked").ordered("k").to(a).build()));
    settle(head, poisoned());
    settle(blocked, blocked());
    settle(delivered("completed", a), completed());
    settle(delivered("discarded", a), poisoned());
    store.admin().end(SOURCE, "discarded", a.family(), true, "ada", "useless");
  }

  @Test
  void deliveriesAreFoundByTheirState() {
    oneOfEach();

    assertThat(found(in(DeliveryState.PENDING))).containsExactly("pending", "due");
    assertThat(found(in(DeliveryState.SCHEDULED))).containsExactly("scheduled");
    assertThat(found(in(DeliveryState.BLOCKED))).containsExactly("blocked");
    assertThat(found(in(DeliveryState.COMPLETED))).containsExactly("completed");
    assertThat(found(in(DeliveryState.DISCARDED))).containsExactly("discarded");
    assertThat(found(in(DeliveryState.POISONED))).containsExactly("head");
    assertThat(found(in()))
        .containsExactly(
            "pending", "scheduled", "due", "head", "blocked", "completed", "discarded");
  }

  @Test
  void aListShowsWhatASingleLookShowsExceptForTheStack() {
    oneOfEach();
    settle(failed(delivered("often", a), a, 12), failedFor(Duration.ofHours(1)));

    Slice all = new Slice(null, true, MANY);
    List<Listed<DeliveryView>> listed = store.admin().deliveries(in(), all);

    for (Listed<DeliveryView> each : listed) {
      assertThat(each.place().handler()).isEqualTo(a.family());
      DeliveryView single = view(each.view().message().id(), a);
      assertThat(each.view()).isEqualTo(withoutStack(single));
      single.lastFailure().ifPresent(it -> assertThat(it.stack()).isNotEmpty());
    }
    assertThat(listed).filteredOn(each -> each.view().lastFailure().isPresent()).hasSize(5);
    assertThat(store.admin().named(in(), all))
        .isEqualTo(
            listed.stream()
                .map(each -> new Listed<>(each.place(), each.view().message()))
                .toList());
  }

  @Test
  void deliveriesAreFoundByWhatTheirMessagesAre() {
    delivered("m-1", a);
    stored(message("m-2").type("order.paid").to(a, b).build());
    stored(message("m-1").from("elsewhere").to(b).build());

    assertThat(found(of(Set.of(a.family()), null, null, null))).containsExactly("m-1", "m-2");
    assertThat(found(of(Set.of(a.family(), b.family()), null, null, null)))
        .containsExactly("m-1", "m-2", "m-2", "m-1");
    assertThat(found(of(null, "order.paid", null, null))).containsExactly("m-2", "m-2");
    assertThat(found(of(null, null, "elsewhere", null))).containsExactly("m-1");
    assertThat(found(of(null, null, null, "m-1"))).containsExactly("m-1", "m-1");
    assertThat(found(of(Set.of(b.family()), null, null, "m-1"))).containsExactly("m-1");
    assertThat(found(of(null, "ORDER.PAID", null, null))).isEmpty();
    assertThat(
            found(
                new DeliveryFilter(
                    ROWS, null, null, "other-channel", null, null, null, null, null)))
        .isEmpty();
    assertThat(found(new DeliveryFilter(ROWS, null, null, "orders", null, null, null, null, null)))
        .hasSize(4);
  }

  @Test
  void aFilterMeansTheFamiliesThatItNamesAndWhoCountsAsThemIsTold() {
    HandlerId other = handler("other");
    delivered("of-a", a);
    delivered("of-b", b);
    delivered("of-other", other);
    assertThat(store.admin().kin(a.family())).containsExactly(a.family());
    family("a", "b"); // had numbers of their own before

    for (HandlerId each : List.of(a, b)) {
      assertThat(store.admin().kin(each.family()))
          .containsExactlyInAnyOrder(a.family(), b.family());
      assertThat(found(of(Set.of(each.family()), null, null, null)))
          .containsExactly("of-" + each.key());
      assertThat(found(of(store.admin().kin(each.family()), null, null, null)))
          .containsExactly("of-a", "of-b");
    }
    assertThat(store.admin().kin(other.family())).containsExactly(other.family());
  }

  @Test
  void deliveriesAreFoundByWhenTheirMessagesCame() {
    List<Instant> times = new ArrayList<>();
    for (String id : List.of("first", "second", "third")) {
      times.add(clock.now());
      delivered(id, a);
      clock.advance(Duration.ofMinutes(1));
    }

    assertThat(found(between(times.get(1), null))).containsExactly("second", "third");
    assertThat(found(between(null, times.get(1)))).containsExactly("first");
    assertThat(found(between(times.get(1), times.get(2)))).containsExactly("second");
  }

  private static DeliveryFilter between(@Nullable Instant from, @Nullable Instant before) {
    return new DeliveryFilter(ROWS, null, null, null, null, null, from, before, null);
  }

  @Test
  void deliveriesAreFoundByHowTheyFailed() {
    settle(delivered("slow", a), new Outcome.Poisoned(failedLike("aaaa"), true));
    settle(delivered("odd", a), new Outcome.Poisoned(failedLike("bbbb"), true));
    settle(delivered("again", a), new Outcome.RetryAfter(Duration.ZERO, failedLike("aaaa")));

    assertThat(found(failedWith(ROWS, "aaaa"))).containsExactly("slow", "again");
    assertThat(found(failedWith(Set.of(DeliveryState.POISONED), "aaaa"))).containsExactly("slow");
    assertThat(found(failedWith(ROWS, "cccc"))).isEmpty();
    List<PoisonSample> samples = store.admin().failures(in(DeliveryState.POISONED), 10);
    assertThat(samples).extracting(PoisonSample::fingerprint).containsExactly("bbbb", "aaaa");
    assertThat(samples.get(0))
        .isEqualTo(
            new PoisonSample(
                "bbbb", "java.lang.IllegalStateException", "it's odd", "a", clock.now()));
    assertThat(store.admin().failures(in(DeliveryState.POISONED), 1)).hasSize(1);
  }

  private Failure failedLike(String fingerprint) {
    Failure like = failure("it's odd");
    return new Failure(
        like.code(), like.type(), like.message(), like.stack(), fingerprint, like.at());
  }

  private static DeliveryFilter failedWith(Set<DeliveryState> states, String fingerprint) {
    return new DeliveryFilter(states, null, null, null, null, null, null, null, fingerprint);
  }

  @Test
  void pagesMeetEveryRowOnceWhateverArrivesInBetween() {
    for (int i = 0; i < 7; i++) {
      stored(message("m-" + i).inLane(i % lanes()).to(a, b).build());
    }
    List<Place> seen = new ArrayList<>();
    Place last = null;
    for (int page = 0; ; page++) {
      List<Listed<DeliveryView>> rows = store.admin().deliveries(in(), new Slice(last, false, 3));
      if (rows.isEmpty()) {
        break;
      }
      rows.forEach(each -> seen.add(each.place()));
      last = rows.get(rows.size() - 1).place();
      stored(message("new-" + page).to(a).build());
    }

    assertThat(seen).hasSize(14).doesNotHaveDuplicates();
    assertThat(seen).isSortedAccordingTo((one, other) -> other.compareTo(one));
    List<Place> upwards =
        store.admin().deliveries(in(), new Slice(seen.get(13), true, 13)).stream()
            .map(Listed::place)
            .toList();
    assertThat(upwards).hasSize(13).isSorted().doesNotContain(seen.get(13));
  }

  @Test
  void countsGoNoFurtherThanTheyAreAsked() {
    for (int i = 0; i < 5; i++) {
      settle(delivered("m-" + i, a), completed());
      delivered("open-" + i, a);
    }

    assertThat(store.admin().count(in(), 4)).isEqualTo(4);
    assertThat(store.admin().count(messages(false), 4)).isEqualTo(4);
    assertThat(store.admin().counts(4).get(0).pending()).hasToString("4+");
    assertThat(store.admin().counts(4).get(0).completed()).hasToString("4+");
    assertThat(store.admin().counts(5).get(0).pending()).hasToString("5");
    assertThat(store.admin().counts(5).get(0).completed()).hasToString("5");
  }

  private static MessageFilter messages(boolean unhandled) {
    return new MessageFilter(unhandled, null, null, null, null, null, null);
  }

  private List<MessageView> listed(MessageFilter filter) {
    List<Listed<MessageView>> all = store.admin().messages(filter, new Slice(null, true, MANY));
    assertThat(store.admin().count(filter, MANY)).isEqualTo(all.size());
    return all.stream().map(Listed::view).toList();
  }

  @Test
  void messagesThatNobodyTakesAreListedUntilSomebodyDoes() {
    delivered("taken", a);
    stored(message("first").type("new.type").build());
    accept(List.of(message("second").build(), message("also-taken").to(a).build()));

    assertThat(listed(messages(false))).hasSize(4);
    assertThat(listed(messages(true)))
        .extracting(view -> view.message().id())
        .containsExactly("first", "second");

    known(message("first").type("new.type").to(a).build());
    assertThat(listed(messages(true)))
        .extracting(view -> view.message().id())
        .containsExactly("second");
    assertThat(ready(a)).hasSize(3);
  }

  @Test
  void aMessageTellsHowOftenItCameAgain() {
    delivered("m", a);
    clock.advance(Duration.ofSeconds(5));
    known(message("m").to(a).build());
    known(message("m").to(a).build()); // within a second: a flood stays cheap
    clock.advance(Duration.ofSeconds(5));
    known(message("m").to(a).build());

    MessageView view = listed(messages(false)).get(0);
    assertThat(view.repeats()).isEqualTo(2);
    assertThat(view.lastRepeatAt()).contains(clock.now());
    assertThat(view.bytes()).contains(2L);
    assertThat(view.orderingKey()).isEmpty();
  }

  @Test
  void allThatIsKnownOfAMessageIsFoundByItsIdentity() {
    long seq = stored(message("m").inLane(2).ordered("k").content("what came").to(a, b).build());
    settle(ready(b, seq), completed());
    Delivery failed = failed(ready(a, seq), a, 3);
    settle(failed, poisoned());
    accept(message("m").content("other").onConflict(OnConflict.KEEP).to(a).build());

    MessageState state = store.admin().message(SOURCE, "m").orElseThrow();

    assertThat(state.lane()).isEqualTo(2);
    assertThat(state.view().orderingKey()).contains("k");
    assertThat(state.message().content()).asString(StandardCharsets.UTF_8).isEqualTo("what came");
    assertThat(state.deliveries())
        .extracting(MessageDetail.Delivery::view)
        .containsExactly(view("m", a), view("m", b));
    assertThat(state.deliveries().get(0).failures())
        .extracting(Failure::message)
        .containsExactly("never", "not now", "not now", "not now");
    assertThat(state.deliveries().get(1).failures()).isEmpty();
    assertThat(state.conflicts()).isEqualTo(store.admin().conflicts(10)).hasSize(1);
    assertThat(store.admin().message(SOURCE, "M")).isEmpty();
  }

  @Test
  void aHandlerIsAsFarBehindAsTheOldestOfItsDeliveriesThatCouldRun() {
    assertThat(store.admin().lag())
        .containsExactly(
            new HandlerLag("a", Optional.empty(), Duration.ZERO),
            new HandlerLag("b", Optional.empty(), Duration.ZERO));
    Instant start = clock.now();
    settle(delivered("done", a), completed());
    clock.advance(Duration.ofSeconds(10));
    delivered("waiting", a);
    clock.advance(Duration.ofSeconds(5));
    settle(delivered("due", b), failedFor(Duration.ofSeconds(10)));
    settle(delivered("not-due", b), failedFor(Duration.ofHours(1)));
    clock.advance(Duration.ofSeconds(12));

    assertThat(store.admin().lag())
        .containsExactly(
            new HandlerLag("a", Optional.of(start.plusSeconds(10)), Duration.ofSeconds(17)),
            new HandlerLag("b", Optional.of(start.plusSeconds(25)), Duration.ofSeconds(2)));
  }

  @Test
  void whatHasAPlaceIsReadySinceItCame() {
    Instant start = clock.now();
    stored(message("placed").inLane(1).at(1_900_000_000_000_000L).to(a).build());
    clock.advance(Duration.ofSeconds(5));
    delivered("fresh", a);
    stored(message("next").at(1_800_000_000_000_000L).to(b).build());
    clock.advance(Duration.ofSeconds(2));

    assertThat(store.admin().lag())
        .containsExactly(
            new HandlerLag("a", Optional.of(start), Duration.ofSeconds(7)),
            new HandlerLag("b", Optional.of(start.plusSeconds(5)), Duration.ofSeconds(2)));
  }

  @Test
  void whatWasDoneIsTold() {
    settle(delivered("m", a), poisoned());
    store.admin().retry(SOURCE, "m", a.family(), "ada", "fixed");
    clock.advance(Duration.ofSeconds(1));
    store.admin().pause(a.family(), a.keyId(), "bob", "down");

    assertThat(store.admin().audit(10))
        .extracting(each -> each.by() + " " + each.action() + " " + each.reason())
        .containsExactly("bob pause down", "ada retry fixed");
    assertThat(store.admin().audit(1))
        .singleElement()
        .satisfies(
            each -> {
              assertThat(each.at()).isEqualTo(clock.now());
              assertThat(each.subject()).contains("'a'");
            });
  }

  @Test
  void d114_aFilterIsComparedLiterally() {
    List<String> odd =
        List.of("%' OR 1=1", "' OR '1'='1", "%", "_", "x%", "x_", "\\", "?", "{now}");
    delivered("xy", a);
    for (String each : odd) {
      assertThat(found(of(null, each, null, null))).as("type %s", each).isEmpty();
      assertThat(found(of(null, null, each, null))).as("source %s", each).isEmpty();
      assertThat(found(of(null, null, null, each))).as("id %s", each).isEmpty();
      assertThat(foundBy(each, null)).as("channel %s", each).isEmpty();
      assertThat(foundBy(null, each)).as("fingerprint %s", each).isEmpty();
      MessageFilter ofType = new MessageFilter(false, each, null, null, null, null, null);
      MessageFilter ofId = new MessageFilter(false, null, null, null, each, null, null);
      assertThat(store.admin().count(ofType, MANY)).as("type %s", each).isZero();
      assertThat(store.admin().count(ofId, MANY)).as("id %s", each).isZero();
    }
    for (String each : odd) {
      stored(message(each).from(each).type(each).to(a).build());
    }
    for (String each : odd) {
      assertThat(found(of(null, each, each, each))).as(each).containsExactly(each);
    }
  }

  private List<String> foundBy(@Nullable String channel, @Nullable String fingerprint) {
    return found(
        new DeliveryFilter(ROWS, null, null, channel, null, null, null, null, fingerprint));
  }

  @Test
  void everyCellIsShown() {
    assertThat(store.admin().cells())
        .hasSize(2 * lanes())
        .extracting(CellRow::owner)
        .containsOnly(0L);
  }
}
