package dev.pigeonhole;

import dev.pigeonhole.internal.registry.Backoff;
import dev.pigeonhole.internal.registry.HandlerSpec;
import dev.pigeonhole.internal.registry.Keep;
import dev.pigeonhole.internal.registry.KeyReader;
import dev.pigeonhole.internal.registry.SelectorKey;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Options of one handler, meant for static import. */
public final class HandlerOption {
  /** What the options of one handler come to; the last word on each of them counts. */
  private static final class Chosen {
    @Nullable Backoff retry;
    @Nullable Duration timeout;
    @Nullable Integer atMost;
    int sharedCommits = 1;
    boolean unordered;
    @Nullable Double perSecond;
    @Nullable Integer pausingAfter;
    Keep keep = Keep.AS_INBOX;
    boolean inline;
    @Nullable KeyReader selector;
  }

  private final Consumer<Chosen> effect;

  private HandlerOption(Consumer<Chosen> effect) {
    this.effect = effect;
  }

  static HandlerSpec.Options chosen(HandlerOption... options) {
    Chosen chosen = new Chosen();
    for (HandlerOption option : options) {
      option.effect.accept(chosen);
    }
    return new HandlerSpec.Options(
        chosen.retry,
        chosen.timeout,
        chosen.atMost,
        chosen.sharedCommits,
        chosen.unordered,
        chosen.perSecond,
        chosen.pausingAfter,
        chosen.keep,
        chosen.inline,
        chosen.selector);
  }

  /** Its own retry policy instead of the inbox's. */
  public static HandlerOption retrying(RetryPolicy policy) {
    Objects.requireNonNull(policy, "policy");
    return new HandlerOption(chosen -> chosen.retry = policy.backoff());
  }

  /**
   * An attempt that takes longer counts as failed and is told to stop. Without it an attempt may
   * take for ever; that of an {@link #inline} handler 30 s, unless the transaction is its caller's.
   */
  public static HandlerOption within(Duration timeout) {
    return new HandlerOption(chosen -> chosen.timeout = timeout);
  }

  /** At most this many attempts at once on one node, instead of the inbox's concurrency. */
  public static HandlerOption atMost(int attempts) {
    return new HandlerOption(chosen -> chosen.atMost = attempts);
  }

  /**
   * At most this many attempts begin in a second, over all nodes together: each node takes the part
   * that its lanes are of the whole. For whoever stands behind the handler; {@link Inbox#drain}
   * does not wait for it.
   */
  public static HandlerOption perSecond(double attempts) {
    return new HandlerOption(chosen -> chosen.perSecond = attempts);
  }

  /**
   * Pauses the handler on a node where it has failed this often in a row: what it needs is probably
   * down. One delivery at a time is then tried, at the times of the retry policy, and failures burn
   * no attempts until one succeeds. Failures that speak of the message do not count: those that
   * poison at once, and payloads that cannot be read. {@link Inbox#drain} never pauses.
   */
  public static HandlerOption pausingAfter(int failures) {
    return new HandlerOption(chosen -> chosen.pausingAfter = failures);
  }

  /** How long its receipts are kept, and messages with them, instead of the inbox's time. */
  public static HandlerOption keepingReceipts(Duration time) {
    return new HandlerOption(chosen -> chosen.keep = chosen.keep.receipts(time));
  }

  /** How long the content of its messages is kept once it has them, instead of the inbox's time. */
  public static HandlerOption keepingPayload(Duration time) {
    return new HandlerOption(chosen -> chosen.keep = chosen.keep.payload(time));
  }

  /**
   * Its own business key, which wins over that of the type. The only handler of a type may have
   * one, and any that is {@link #inline}: that one alone goes by it, and its siblings by what the
   * message is known by. A stored message has one identity for all its handlers, so beside others a
   * stored handler with its own key refuses to start, with {@code PH-CFG-16}.
   *
   * @param type the class of the messages
   */
  public static <T> HandlerOption keyedBy(
      Class<T> type, Function<? super T, @Nullable String> selector) {
    Objects.requireNonNull(selector, "selector");
    KeyReader reader = new SelectorKey(type, payload -> selector.apply(type.cast(payload)));
    return new HandlerOption(chosen -> chosen.selector = reader);
  }

  /** The same for a key that is found without decoding the message. */
  public static HandlerOption keyedBy(KeySelector selector) {
    Objects.requireNonNull(selector, "selector");
    return new HandlerOption(chosen -> chosen.selector = selector.reader());
  }

  /**
   * Commits up to this many deliveries of a transactional handler together: several times faster,
   * for handlers that write only rows of their own message. If one fails, all are rolled back and
   * run one by one.
   */
  public static HandlerOption sharedCommits(int deliveries) {
    return new HandlerOption(chosen -> chosen.sharedCommits = deliveries);
  }

  /**
   * This handler does not care for ordering keys: it takes messages of one key side by side, and
   * one that is poisoned blocks nobody. For siblings of a handler that needs the order.
   */
  public static HandlerOption unordered() {
    return new HandlerOption(chosen -> chosen.unordered = true);
  }

  /**
   * Runs the handler at once, on the thread that hands the message in, in a transaction of its own
   * with its receipt. Nothing is stored for it and nothing retried: the message is accepted when
   * the handler has finished it, and comes again from its source when it has failed. It may take 30
   * s, or as long as {@link #within} says; then its transaction is rolled back. Deliveries that
   * were stored for it before are still run, one at a time.
   */
  public static HandlerOption inline() {
    return new HandlerOption(chosen -> chosen.inline = true);
  }
}
