package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.StoreSettings;
import org.junit.jupiter.api.Test;

/** Opening a store: again, by somebody else, with other lanes. */
abstract class OpenContract extends StoreFixture {

  OpenContract(InboxStoreContract contract) {
    super(contract);
  }

  @Test
  void openingAgainChangesNothing() {
    HandlerId a = handler("a");
    delivered("m", a);

    store.maintenance().open(contract.settings());

    assertThat(ready(a)).hasSize(1);
    assertThat(handler("a")).isEqualTo(a);
  }

  @Test
  void id14_d35_anotherInboxIsRefused() {
    StoreSettings ours = contract.settings();
    refused(
        ErrorCode.INBOX_TAKEN,
        new StoreSettings("another", ours.lanes(), ours.connections(), ours.maxPayload()));
  }

  @Test
  void anotherNumberOfLanesIsRefused() {
    StoreSettings ours = contract.settings();
    refused(
        ErrorCode.LANES_DIFFER,
        new StoreSettings(ours.inbox(), ours.lanes() * 2, ours.connections(), ours.maxPayload()));
  }

  @Test
  void theClockIsTheOneThatWasGiven() {
    assertThat(store.clock().instant()).isEqualTo(clock.now());
  }

  private void refused(ErrorCode code, StoreSettings settings) {
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(() -> store.maintenance().open(settings))
        .satisfies(
            e ->
                assertThat(e.problems())
                    .extracting(ConfigurationException.Problem::code)
                    .containsExactly(code));
  }
}
