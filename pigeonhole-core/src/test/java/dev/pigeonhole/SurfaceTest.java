package dev.pigeonhole;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What is published can hardly be taken back; so nothing is by accident. */
class SurfaceTest {

  @Test
  void aRetryPolicyIsDescribedByUsersAndAskedByTheEngineAlone() {
    assertThat(publicMethods(RetryPolicy.class))
        .containsExactlyInAnyOrder(
            "defaults",
            "exponential",
            "fixed",
            "cappedAt",
            "maxAttempts",
            "maxUncounted",
            "on",
            "poisonOn",
            "withoutJitter",
            "seededWith");
    assertThat(RetryPolicy.class.getClasses()).isEmpty();
  }

  @Test
  void anOptionIsMadeByItsFactoriesAndReadByNobody() {
    assertThat(publicMethods(HandlerOption.class))
        .containsExactlyInAnyOrder(
            "retrying",
            "within",
            "atMost",
            "sharedCommits",
            "unordered",
            "perSecond",
            "inline",
            "keyedBy",
            "pausingAfter",
            "keepingReceipts",
            "keepingPayload");
    assertThat(HandlerOption.class.getClasses()).isEmpty();
  }

  private static Set<String> publicMethods(Class<?> type) {
    return Arrays.stream(type.getDeclaredMethods())
        .filter(method -> Modifier.isPublic(method.getModifiers()))
        .map(Method::getName)
        .collect(Collectors.toSet());
  }
}
