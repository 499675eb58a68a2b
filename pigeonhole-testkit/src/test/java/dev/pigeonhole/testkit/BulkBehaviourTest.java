package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.retrying;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.AuditEntry;
import dev.pigeonhole.admin.BulkChange;
import dev.pigeonhole.admin.ChangeResult;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** In which steps many are changed, how many at most, and how it goes on where it was cut. */
@Timeout(600)
class BulkBehaviourTest {
  private static final Pattern WAY_OUT = Pattern.compile("operation\\(\"([^\"]+)\"\\)");

  private final TestClock clock = new TestClock();
  private final HookedStore store = new HookedStore(MemoryStore.create().clock(clock));
  private final List<String> handled = new CopyOnWriteArrayList<>();
  private final AtomicBoolean down = new AtomicBoolean(true);
  private final List<Integer> steps = new ArrayList<>();

  private TestInbox inbox() {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .named("text")
            .handle(
                "mail",
                text -> {
                  if (down.get()) {
                    throw new IllegalStateException("no mail server");
                  }
                  handled.add(text);
                },
                retrying(RetryPolicy.fixed(ofSeconds(1)).maxAttempts(1)))
            .build();
    store.around(
        "admin.step",
        call -> {
          steps.add(chosen(call));
          return call.proceed();
        });
    return TestInbox.on(store, clock, channel);
  }

  private static int chosen(HookedStore.Call step) {
    return ((List<?>) step.argument(2)).size();
  }

  private TestInbox poisoned(int messages) {
    TestInbox inbox = inbox();
    for (int i = 0; i < messages; i++) {
      inbox.receive("m-" + i, "text " + i);
    }
    inbox.drain();
    down.set(false);
    return inbox;
  }

  private static InboxAdmin admin(TestInbox inbox) {
    return inbox.inbox().admin().as("ada");
  }

  @Test
  void aChangeIsMadeInStepsOfAHundred() {
    TestInbox inbox = poisoned(250);

    assertThat(admin(inbox).deliveries().handler("mail").retry("back").run().changed())
        .isEqualTo(250);

    assertThat(steps).containsExactly(100, 100, 50);
  }

  @ParameterizedTest(name = "the step that fails has committed: {0}")
  @ValueSource(booleans = {false, true})
  void aChangeThatFailsInAStepSaysHowToGoOnAndNothingIsDoneTwice(boolean committed) {
    TestInbox inbox = poisoned(250);
    store.around(
        "admin.step",
        call -> {
          steps.add(chosen(call));
          if (steps.size() != 2) {
            return call.proceed();
          }
          if (committed) {
            call.proceed();
          }
          throw new StoreException(
              StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_UNREACHABLE, "No route.", null);
        });
    BulkChange retry = admin(inbox).deliveries().handler("mail").retry("back");

    List<String> names = new ArrayList<>();
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(retry::run)
        .withMessageContaining("was cut after 100;")
        .withMessageContaining("No route.")
        .satisfies(
            e -> {
              assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT);
              assertThat(e.code()).isEqualTo(ErrorCode.DATABASE_UNREACHABLE);
              Matcher wayOut = WAY_OUT.matcher(e.getMessage());
              assertThat(wayOut.find()).isTrue();
              names.add(wayOut.group(1));
            });
    String name = names.get(0);
    inbox.drain();
    assertThat(handled).hasSize(committed ? 200 : 100);
    steps.clear();
    store.around(
        "admin.step",
        call -> {
          steps.add(chosen(call));
          return call.proceed();
        });

    assertThat(retry.operation(name).run())
        .isEqualTo(new ChangeResult(name, 250, 250, Map.of(), true));

    assertThat(steps).containsExactlyElementsOf(committed ? List.of(50) : List.of(100, 50));
    inbox.drain();
    assertThat(handled).hasSize(250).doesNotHaveDuplicates();
    assertThat(admin(inbox).audit(1_000)).extracting(AuditEntry::subject).doesNotHaveDuplicates();
    assertThat(admin(inbox).audit(1_000)).hasSize(250);
  }

  @Test
  void unlessMoreAreAllowedAChangeIsOfTenThousandAtMost() {
    TestInbox inbox = inbox();
    for (int i = 0; i < 10_001; i++) {
      inbox.receive("c", Message.encoded("u-" + i, "unknown", "x".getBytes(UTF_8), "text/plain"));
    }
    BulkChange all = admin(inbox).messages().type("unknown").purge("never meant for us");

    assertThat(all.dryRun().chosen()).isEqualTo(new Count(10_000, true));
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(all::run)
        .withMessageContaining("more than 10,000")
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.CHANGE_TOO_LARGE));
    assertThat(steps).isEmpty();
    assertThat(admin(inbox).audit(1)).isEmpty();

    assertThat(admin(inbox).messages().id("u-0").purge("one less").run().changed()).isEqualTo(1);
    assertThat(all.dryRun().chosen()).isEqualTo(Count.of(10_000));
    assertThat(all.run().changed()).isEqualTo(10_000);
    assertThat(steps).hasSize(101).allMatch(size -> size <= 100);
  }
}
