package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WakeUpChannelTest {

  @Test
  void pg05_aChannelCarriesItsSchemaAndPrefixHoweverLongTheyAre() {
    assertThat(PostgresWakeUps.channel("shop.inbox_")).isEqualTo("shop.inbox_");
    String longest = "s".repeat(40) + "." + "p".repeat(22);
    assertThat(PostgresWakeUps.channel(longest)).isEqualTo(longest).hasSize(63);

    String one = PostgresWakeUps.channel("s".repeat(63) + "." + "p".repeat(40) + "1");
    String two = PostgresWakeUps.channel("s".repeat(63) + "." + "p".repeat(40) + "2");
    assertThat(one).hasSizeLessThanOrEqualTo(63).isNotEqualTo(two);
    assertThat(PostgresWakeUps.channel("s".repeat(63) + "." + "p".repeat(40) + "1")).isEqualTo(one);
  }
}
