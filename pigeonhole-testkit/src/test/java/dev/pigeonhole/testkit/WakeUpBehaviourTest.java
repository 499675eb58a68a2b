package dev.pigeonhole.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Message;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Nodes;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.Transactions;
import dev.pigeonhole.store.WakeUps;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * When an inbox tells other nodes that something has come in, and what it does when it hears so.
 */
class WakeUpBehaviourTest {
  private static final Duration NEVER = Duration.ofHours(1);

  private final TestClock clock = new TestClock();
  private final MemoryStore memory = MemoryStore.create().clock(clock);
  private final Words words = new Words();

  /** Words that a test says. */
  private static final class Words implements WakeUps {
    private static final String WORD = "word";
    private static final String BROKEN = "broken";

    final LinkedBlockingQueue<String> said = new LinkedBlockingQueue<>();
    final AtomicInteger told = new AtomicInteger();
    final AtomicInteger rests = new AtomicInteger();

    @Override
    public void tell() {
      told.incrementAndGet();
    }

    @Override
    public boolean await(Duration atMost) {
      try {
        String word = said.poll(atMost.toMillis(), TimeUnit.MILLISECONDS);
        if (BROKEN.equals(word)) {
          throw new StoreException(
              StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_TRANSIENT, "cut off", null);
        }
        return word != null;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }

    @Override
    public void rest() {
      rests.incrementAndGet();
    }
  }

  /** The memory store, with words. */
  private final class Talking implements InboxStore {
    @Override
    public Acceptor acceptor() {
      return memory.acceptor();
    }

    @Override
    public Deliveries deliveries() {
      return memory.deliveries();
    }

    @Override
    public Nodes nodes() {
      return memory.nodes();
    }

    @Override
    public Maintenance maintenance() {
      return memory.maintenance();
    }

    @Override
    public AdminQueries admin() {
      return memory.admin();
    }

    @Override
    public Optional<Transactions> transactions() {
      return memory.transactions();
    }

    @Override
    public Optional<WakeUps> wakeUps() {
      return Optional.of(words);
    }

    @Override
    public InstantSource clock() {
      return memory.clock();
    }
  }

  private static Channel channel(String... handlers) {
    var type = Channel.named("c").on(String.class);
    for (String handler : handlers) {
      type.handle(handler, text -> {});
    }
    return type.build();
  }

  private TestInbox talking(String... handlers) {
    return TestInbox.on(new Talking(), clock, channel(handlers))
        .with(it -> it.polling(NEVER, NEVER));
  }

  @Test
  void whatBringsWorkIsTold() {
    TestInbox inbox = talking("h");
    inbox.receive("m", "m");
    assertThat(words.told).hasValue(1);

    inbox.receive("m", "m"); // a repeat
    inbox.receive("", "n"); // rejected
    inbox.drain();
    assertThat(words.told).hasValue(1);

    inbox.inbox().wake();
    assertThat(words.told).hasValue(2);
  }

  @Test
  void whatNobodyHandlesIsNotTold() {
    talking().receive("m", "m");

    assertThat(words.told).hasValue(0);
  }

  @Test
  void aRepeatThatBringsWorkForANewHandlerIsTold() {
    talking("h").receive("m", "m");
    talking("h", "new").receive("m", "m");

    assertThat(words.told).hasValue(2);
  }

  @Test
  void aWordMakesANodeLookThoughItHardlyPolls() {
    TestInbox other = TestInbox.on(memory, clock, channel("h"));
    try (TestInbox inbox = talking("h").start()) {
      inbox.receive("first", "first");
      inbox.await("first", "h", DeliveryState.COMPLETED);

      other.receive("m", "m");
      words.said.add(Words.WORD);
      other.await("m", "h", DeliveryState.COMPLETED);
      other.receive("c", Message.of("urgent", "urgent").priority(9));
      words.said.add(Words.WORD);
      other.await("urgent", "h", DeliveryState.COMPLETED);
    }
    assertThat(words.rests).hasValue(1);
  }

  @Test
  void aListenerThatBreaksListensAgain() {
    TestInbox other = TestInbox.on(memory, clock, channel("h"));
    try (TestInbox inbox = talking("h").start()) {
      words.said.add(Words.BROKEN);
      words.said.add(Words.BROKEN);
      inbox.receive("first", "first");
      inbox.await("first", "h", DeliveryState.COMPLETED);

      other.receive("m", "m");
      words.said.add(Words.WORD);
      other.await("m", "h", DeliveryState.COMPLETED);
    }
  }
}
