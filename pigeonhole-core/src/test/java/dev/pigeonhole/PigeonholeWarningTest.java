package dev.pigeonhole;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class PigeonholeWarningTest {
  @RegisterExtension final Warnings warnings = new Warnings();

  private static Channel direct(boolean optOut) {
    ChannelBuilder channel = Channel.named("live").direct();
    if (optOut) {
      channel.withoutInbox();
    }
    return channel.on(String.class).handle("show", text -> {}).build();
  }

  @Test
  void aChannelWithoutInboxIsNamedInAWarning() {
    Pigeonhole.of().direct(direct(false)).requireInbox(Requirement.WARN).build();

    assertThat(warnings.texts()).hasSize(1);
    assertThat(warnings.texts().get(0)).contains("PH-CFG-08", "'live'", ".withoutInbox()");
  }

  @Test
  void thereIsNoWarningWithoutThePolicyOrWithTheOptOut() {
    Pigeonhole.of().direct(direct(false)).build();
    Pigeonhole.of().direct(direct(true)).requireInbox(Requirement.WARN).build();

    assertThat(warnings.texts()).isEmpty();
  }

  @Test
  void channelsWithoutAnInboxAreListedOnce() {
    Channel other =
        Channel.named("other").direct().on(Integer.class).handle("count", number -> {}).build();
    Pigeonhole.of().direct(direct(true)).direct(other).build();

    assertThat(warnings.events(Level.INFO))
        .extracting(ILoggingEvent::getFormattedMessage)
        .containsExactly(
            "Direct channels keep nothing, and do not try again by themselves:\n"
                + "  live: withoutInbox()\n  other");
  }

  @Test
  void aFailingDirectHandlerIsLoggedOnOneLineWithItsCause() {
    Channel failing =
        Channel.named("live")
            .direct()
            .on(String.class)
            .handle(
                "show",
                text -> {
                  throw new IllegalStateException("no screen");
                })
            .build();

    Pigeonhole.of()
        .direct(failing)
        .build()
        .publish(Message.of("m-1", "hello").from("\u202eshop\u2028"));

    assertThat(warnings.texts()).hasSize(1);
    assertThat(warnings.texts().get(0))
        .contains("'show'", "'live'", "\\u202Eshop\\u2028/m-1")
        .doesNotContain("\u202e", "\u2028");
    assertThat(warnings.events().get(0).getThrowableProxy().getMessage()).isEqualTo("no screen");
  }
}
