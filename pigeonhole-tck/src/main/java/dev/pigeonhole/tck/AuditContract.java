package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.admin.AuditEntry;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.EditedContent;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Place;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who did what to what, and why: one row for each change, and none for what changed nothing. */
abstract class AuditContract extends StoreFixture {
  private HandlerId a;

  AuditContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
  }

  private Delivery poisonedOne(String id) {
    Delivery delivery = delivered(id, a);
    settle(delivery, poisoned());
    return delivery;
  }

  /** The newest entry tells this, and that it was done now; the next change comes later. */
  private void told(String by, String action, String reason, String subject) {
    assertThat(store.admin().audit(1))
        .extracting(
            AuditEntry::at,
            AuditEntry::by,
            AuditEntry::action,
            AuditEntry::reason,
            AuditEntry::subject)
        .containsExactly(tuple(clock.now(), by, action, reason, subject));
    clock.advance(Duration.ofSeconds(1));
  }

  @Test
  void everyChangeOfOneDeliveryIsTold() {
    poisonedOne("retried");
    assertThat(store.admin().retry(SOURCE, "retried", a.family(), "ada", "r-1")).isTrue();
    told("ada", "retry", "r-1", "contract/retried for handler 'a'");

    poisonedOne("completed");
    assertThat(store.admin().end(SOURCE, "completed", a.family(), false, "bob", "r-2")).isTrue();
    told("bob", "complete", "r-2", "contract/completed for handler 'a'");

    poisonedOne("discarded");
    assertThat(store.admin().end(SOURCE, "discarded", a.family(), true, "cyd", "r-3")).isTrue();
    told("cyd", "discard", "r-3", "contract/discarded for handler 'a'");

    poisonedOne("edited");
    EditedContent content = new EditedContent(new byte[] {1}, new byte[16]);
    assertThat(store.admin().edit(SOURCE, "edited", a.family(), content, "dan", "r-4")).isTrue();
    told("dan", "retry", "r-4", "contract/edited for handler 'a' with other content");

    assertThat(store.admin().replay(SOURCE, "completed", a, "eve", "r-5"))
        .isEqualTo(Effect.CHANGED);
    told("eve", "replay", "r-5", "contract/completed for handler 'a'");
    assertThat(store.admin().audit(100)).hasSize(5);
  }

  @Test
  void everyChangeOfAKeyOrAHandlerOrASecondCopyIsTold() {
    Delivery head = ready(a, stored(message("head").ordered("k'1").to(a).build()));
    settle(head, poisoned());
    long hash = MessageBuilder.keyHash("k'1");
    assertThat(store.admin().releaseKey(a.family(), a.keyId(), "k'1", hash, "ada", "r-1")).isTrue();
    told("ada", "release", "r-1", "key 'k'1' of handler 'a'");

    assertThat(store.admin().pause(a.family(), a.keyId(), "bob", "r-2")).isTrue();
    told("bob", "pause", "r-2", "handler 'a'");
    assertThat(store.admin().resume(a.family(), a.keyId(), "cyd", "r-3")).isTrue();
    told("cyd", "resume", "r-3", "handler 'a'");

    long conflict = secondCopy("head", "other");
    String subject = "conflict %d of contract/head".formatted(conflict);
    assertThat(store.admin().claimConflict(conflict, "new", "dan", "r-4")).hasValue("new");
    told("dan", "accept", "r-4", subject);
    store.admin().unclaimConflict(conflict, "new", "eve", "r-5");
    told("eve", "unaccept", "r-5", subject);
    assertThat(store.admin().dismissConflict(conflict, "fay", "r-6")).isTrue();
    told("fay", "dismiss", "r-6", subject);
    assertThat(store.admin().audit(100)).hasSize(6);
  }

  private long secondCopy(String id, String content) {
    accept(message(id).content(content).onConflict(OnConflict.KEEP).to(a).build());
    return store.admin().conflicts(1).get(0).conflict();
  }

  @Test
  void aChangeToManyIsToldOneByOne() {
    Place first = place(poisonedOne("first"));
    Place second = place(poisonedOne("second"));
    step(Action.RETRY, first);
    told("ada", "retry", "many", "contract/first for handler 'a'");
    step(Action.DISCARD, second);
    told("ada", "discard", "many", "contract/second for handler 'a'");
    Place third = place(poisonedOne("third"));
    step(Action.COMPLETE, third);
    told("ada", "complete", "many", "contract/third for handler 'a'");
    step(Action.PURGE, new Place(third.seq(), 0));
    told("ada", "purge", "many", "contract/third");
    step(Action.REPLAY, new Place(second.seq(), 0));
    told("ada", "replay", "many", "contract/second for handler 'a'");
    assertThat(store.admin().audit(100)).hasSize(5);
  }

  private static Place place(Delivery delivery) {
    return new Place(delivery.seq(), delivery.cell().handler());
  }

  private void step(Action action, Place place) {
    HandlerId target = action == Action.REPLAY ? a : null;
    Operation begun = store.admin().begin(Operation.begun("op-" + action, "what"), "ada", "begun");
    AdminChange change = new AdminChange(action, target, "ada", "many");
    assertThat(store.admin().step(begun, change, List.of(place), true).changed()).isEqualTo(1);
  }

  @Test
  void whatChangesNothingIsNotTold() {
    delivered("open", a);
    long hash = MessageBuilder.keyHash("k");
    EditedContent content = new EditedContent(new byte[] {1}, new byte[16]);

    assertThat(store.admin().retry(SOURCE, "open", a.family(), "ada", "x")).isFalse();
    assertThat(store.admin().end(SOURCE, "open", a.family(), true, "ada", "x")).isFalse();
    assertThat(store.admin().edit(SOURCE, "open", a.family(), content, "ada", "x")).isFalse();
    assertThat(store.admin().replay(SOURCE, "open", a, "ada", "x")).isEqualTo(Effect.OPEN);
    assertThat(store.admin().releaseKey(a.family(), a.keyId(), "k", hash, "ada", "x")).isFalse();
    assertThat(store.admin().resume(a.family(), a.keyId(), "ada", "x")).isFalse();
    assertThat(store.admin().dismissConflict(1, "ada", "x")).isFalse();

    assertThat(store.admin().audit(100)).isEmpty();
  }
}
