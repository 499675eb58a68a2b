package dev.pigeonhole;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** A key and its past. */
class HandlerKeyTest {

  @Test
  void aFormerKeyIsNotForgottenWhenAnotherIsNamed() {
    HandlerKey key = HandlerKey.of("mail").formerly("letter").formerly("post", "courier");

    assertThat(key.key()).isEqualTo("mail");
    assertThat(key.formerKeys()).containsExactly("letter", "post", "courier");
    assertThat(HandlerKey.of("mail").formerly().formerKeys()).isEmpty();
  }
}
