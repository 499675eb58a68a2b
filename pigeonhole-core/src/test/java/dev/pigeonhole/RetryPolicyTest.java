package dev.pigeonhole;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RetryPolicyTest {
  private final RandomGenerator random = new SplittableRandom(42);
  private final Throwable failure = new IllegalStateException();

  @ParameterizedTest
  @CsvSource({"1,1,2", "2,2,4", "3,4,8", "4,8,16", "8,128,256", "9,150,300", "60,150,300"})
  void waitsBetweenHalfAndAllOfTwoToTheFailuresUpToFiveMinutes(int failures, int low, int high) {
    for (int i = 0; i < 1_000; i++) {
      assertThat(RetryPolicy.defaults().backoff().delayAfter(failures, random))
          .isBetween(Duration.ofSeconds(low), Duration.ofSeconds(high));
    }
  }

  @Test
  void aSeedMakesWaitsReproducibleAndTheyStillDiffer() {
    List<Duration> once = sample(new SplittableRandom(7));
    List<Duration> again = sample(new SplittableRandom(7));

    assertThat(again).isEqualTo(once);
    assertThat(Set.copyOf(once)).hasSizeGreaterThan(900);
    assertThat(RetryPolicy.defaults().seededWith(7).backoff().seed()).hasValue(7);
    assertThat(RetryPolicy.defaults().backoff().seed()).isEmpty();
  }

  private static List<Duration> sample(RandomGenerator random) {
    return IntStream.range(0, 1_000)
        .mapToObj(i -> RetryPolicy.defaults().backoff().delayAfter(3, random))
        .toList();
  }

  @Test
  void clm21_noNumberOfFailuresLeavesTheRange() {
    List<RetryPolicy> policies =
        List.of(
            RetryPolicy.defaults(),
            RetryPolicy.exponential(Duration.ofNanos(1)).cappedAt(Duration.ofDays(365)),
            RetryPolicy.exponential(Duration.ofDays(365)),
            RetryPolicy.exponential(Duration.ofSeconds(1)).withoutJitter());
    List<Duration> caps =
        List.of(
            Duration.ofMinutes(5),
            Duration.ofDays(365),
            Duration.ofDays(365),
            Duration.ofMinutes(5));
    for (int i = 0; i < policies.size(); i++) {
      for (int failures = 0; failures <= 10_000; failures++) {
        assertThat(policies.get(i).backoff().delayAfter(failures, random))
            .isBetween(Duration.ZERO, caps.get(i));
      }
    }
    assertThat(RetryPolicy.defaults().backoff().delayAfter(Integer.MAX_VALUE, random))
        .isBetween(Duration.ofSeconds(150), Duration.ofMinutes(5));
  }

  @Test
  void theLastAttemptPoisons() {
    RetryPolicy policy = RetryPolicy.defaults();

    assertThat(policy.maxAttempts()).isEqualTo(5);
    assertThat(policy.backoff().after(4, failure, random)).isPresent();
    assertThat(policy.backoff().after(5, failure, random)).isEmpty();
    assertThat(policy.backoff().after(6, failure, random)).isEmpty();
  }

  @Test
  void oneAttemptPoisonsOnTheFirstFailure() {
    assertThat(RetryPolicy.defaults().maxAttempts(1).backoff().after(1, failure, random)).isEmpty();
    assertThat(
            RetryPolicy.defaults()
                .maxAttempts(Integer.MAX_VALUE)
                .backoff()
                .after(1_000_000, failure, random))
        .isPresent();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, Integer.MIN_VALUE})
  void d72_fewerAttemptsThanOneAreRefusedWithTheWayOut(int attempts) {
    assertThatThrownBy(() -> RetryPolicy.defaults().maxAttempts(attempts))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageStartingWith("PH-CFG-03")
        .hasMessageContaining(String.valueOf(attempts))
        .hasMessageContaining("use 1");
  }

  @Test
  void theFirstMatchingRuleDecides() {
    RetryPolicy policy =
        RetryPolicy.defaults()
            .on(ConnectException.class, RetryPolicy.fixed(Duration.ofSeconds(30)).maxAttempts(100))
            .poisonOn(IOException.class)
            .on(IOException.class, RetryPolicy.fixed(Duration.ofSeconds(1)));

    assertThat(policy.backoff().after(99, new ConnectException(), random))
        .contains(Duration.ofSeconds(30));
    assertThat(policy.backoff().after(100, new ConnectException(), random)).isEmpty();
    assertThat(policy.backoff().after(1, new IOException(), random)).isEmpty();
    assertThat(policy.backoff().after(1, new UncheckedIOException(new IOException()), random))
        .hasValueSatisfying(
            wait -> assertThat(wait).isBetween(Duration.ofSeconds(1), Duration.ofSeconds(2)));
  }

  @Test
  void everyStepLeavesTheFormerValueAsItWas() {
    RetryPolicy policy = RetryPolicy.defaults();
    Set<RetryPolicy> all = new HashSet<>();
    all.add(policy);
    all.add(policy.maxAttempts(1));
    all.add(policy.cappedAt(Duration.ofSeconds(3)));
    all.add(policy.poisonOn(IllegalStateException.class));
    all.add(policy.withoutJitter());

    assertThat(all).hasSize(5);
    assertThat(policy.maxAttempts()).isEqualTo(5);
    assertThat(policy.backoff().after(1, failure, random)).isPresent();
    assertThat(policy.backoff().delayAfter(9, random))
        .isGreaterThanOrEqualTo(Duration.ofSeconds(150));
  }

  @Test
  void aCapBoundsTheGrowth() {
    RetryPolicy policy = RetryPolicy.defaults().cappedAt(Duration.ofSeconds(3)).withoutJitter();

    assertThat(policy.backoff().delayAfter(1, random)).isEqualTo(Duration.ofSeconds(2));
    assertThat(policy.backoff().delayAfter(2, random)).isEqualTo(Duration.ofSeconds(3));
    assertThat(
            RetryPolicy.exponential(Duration.ofHours(1))
                .withoutJitter()
                .backoff()
                .delayAfter(3, random))
        .as("a first wait above the usual cap raises it")
        .isEqualTo(Duration.ofHours(1));
  }

  @Test
  void aFixedWaitStaysWhatItIs() {
    RetryPolicy policy = RetryPolicy.fixed(Duration.ofSeconds(30));

    assertThat(policy.backoff().delayAfter(1, random)).isEqualTo(Duration.ofSeconds(30));
    assertThat(policy.backoff().delayAfter(7, random)).isEqualTo(Duration.ofSeconds(30));
    assertThat(policy.cappedAt(Duration.ofMinutes(5)).backoff().delayAfter(1, random))
        .as("a cap that is not reached changes nothing")
        .isEqualTo(Duration.ofSeconds(30));
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "P366D", "PT2562047788015215H"})
  void aWaitThatIsNoneIsRefused(String text) {
    Duration wait = Duration.parse(text);

    assertThatThrownBy(() -> RetryPolicy.fixed(wait)).hasMessageStartingWith("PH-CFG-04");
    assertThatThrownBy(() -> RetryPolicy.exponential(wait)).hasMessageStartingWith("PH-CFG-04");
    assertThatThrownBy(() -> RetryPolicy.defaults().cappedAt(wait))
        .hasMessageStartingWith("PH-CFG-04");
  }

  @Test
  void d73_aCapBelowTheFirstWaitIsRefusedShowingBoth() {
    assertThatThrownBy(() -> RetryPolicy.defaults().cappedAt(Duration.ofSeconds(1)))
        .hasMessageStartingWith("PH-CFG-04")
        .hasMessageContaining("PT1S")
        .hasMessageContaining("PT2S");
  }
}
