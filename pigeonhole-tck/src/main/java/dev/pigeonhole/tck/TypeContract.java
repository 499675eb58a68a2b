package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.HandlerId;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A known identity with the same content under the same type, another one, or another name. */
abstract class TypeContract extends StoreFixture {
  private HandlerId a;
  private HandlerId b;

  TypeContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandlers() {
    a = handler("a");
    b = handler("b");
  }

  private AcceptResult.Differs differs(MessageBuilder message) {
    AcceptResult result = accept(message.build());
    assertThat(result).isInstanceOf(AcceptResult.Differs.class);
    return (AcceptResult.Differs) result;
  }

  private List<String> keptTypes() {
    return store.admin().conflicts(10).stream().map(ConflictView::type).toList();
  }

  @Test
  void id08_anotherTypeUnderAKnownIdentityIsAConflict() {
    for (OnConflict policy : List.of(OnConflict.KEEP, OnConflict.REJECT)) {
      String id = "m-" + policy;
      long seq = stored(message(id).type("order.confirmed").onConflict(policy).to(a).build());

      assertThat(differs(message(id).type("order.cancelled").onConflict(policy).to(b)).seq())
          .isEqualTo(seq);
      assertThat(differs(message(id).type("order.unhandled").onConflict(policy)).seq())
          .isEqualTo(seq);

      assertThat(load(seq).type()).isEqualTo("order.confirmed");
    }
    assertThat(fresh(b)).isEmpty();
    assertThat(keptTypes()).containsExactlyInAnyOrder("order.cancelled", "order.unhandled");
  }

  @Test
  void everyOtherTypeIsKeptOnce() {
    stored(message("m").type("one").to(a).build());

    for (String type : List.of("two", "three", "two", "three", "One")) {
      differs(message("m").type(type).to(a));
    }

    assertThat(keptTypes()).containsExactlyInAnyOrder("two", "three", "One");
  }

  @Test
  void aConflictOfTypesInOneListIsAnsweredForTheSecondCopy() {
    List<AcceptResult> results =
        accept(
            List.of(
                message("m").type("one").to(a).build(), message("m").type("two").to(b).build()));

    assertThat(results.get(1)).isEqualTo(new AcceptResult.Differs(storedSeq(results.get(0))));
    assertThat(fresh(b)).isEmpty();
  }

  @Test
  void withPolicyRepeatTheTypeIsNotCompared() {
    stored(message("m").type("one").onConflict(OnConflict.REPEAT).to(a).build());

    assertThat(known(message("m").type("two").onConflict(OnConflict.REPEAT).to(b).build()).added())
        .containsExactly(b);
  }

  @Test
  void anOlderNameOfTheTypeIsTheSameType() {
    stored(message("first").type("v1").to(a).build());
    stored(message("second").type("v2", "v1").to(a).build());

    for (String id : List.of("first", "second")) {
      known(message(id).type("v1").to(a).build());
      known(message(id).type("v2", "v1").to(a).build());
      known(message(id).type("v3", "v2", "v1").to(a).build());
    }
    assertThat(keptTypes()).isEmpty();
  }

  /** A node of the former version, which has never heard of the new name. */
  @Test
  void aNewerNameOfTheTypeIsTheSameTypeForANodeThatDoesNotKnowIt() {
    stored(message("m").type("v3", "v2", "v1").to(a).build());

    known(message("m").type("v2", "v1").to(a).build());
    known(message("m").type("v1").to(a).build());
    differs(message("m").type("v0").to(a));
    differs(message("m").type("v2").to(a)); // of which this one knows nothing
  }

  @Test
  void aNameThatWasDroppedFromTheListStillJoinsItsNeighbours() {
    stored(message("m").type("v3", "v2").to(a).build());

    known(message("m").type("v2", "v1").to(a).build());
  }
}
