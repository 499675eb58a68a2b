package dev.pigeonhole.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.lease.Claim;
import dev.pigeonhole.lease.Completion;
import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Keeps the leases and receipts of a {@link dev.pigeonhole.lease.LeaseGuard} in Redis, one key for
 * each name. Every call is one script on one key that the server runs by itself, and only the
 * server's clock counts. Needs Redis 5 or newer.
 *
 * <p><b>What Redis can lose.</b> Redis answers before others have what it was told. A failover to a
 * replica that has not got the last writes loses them, and so does a crash of the server: with
 * {@code appendfsync everysec} those of about a second, without an append-only file all since the
 * last snapshot. A lost lease lets a second copy run beside the first; a lost receipt lets a repeat
 * run once more. A server that evicts keys when memory is short ({@code maxmemory-policy} other
 * than {@code noeviction}) loses them on purpose. So effectively once is at least once, with nearly
 * all repeats kept away; where that is not enough, use a {@code Guard} on the database that the
 * body writes to.
 */
public final class RedisGuardStore implements GuardStore {
  private static final String PREFIX = "pigeonhole:guard:";
  private static final byte[] NOTHING = {};

  private final UnifiedJedis jedis;
  private final String prefix;

  private RedisGuardStore(UnifiedJedis jedis, String prefix) {
    this.jedis = jedis;
    this.prefix = prefix;
  }

  /** On this client, which is shared and never closed here. */
  public static RedisGuardStore of(UnifiedJedis jedis) {
    return new RedisGuardStore(jedis, PREFIX);
  }

  /**
   * What all keys begin with, to tell applications on one server apart. Default {@code
   * pigeonhole:guard:}.
   */
  public RedisGuardStore prefix(String prefix) {
    return new RedisGuardStore(jedis, prefix);
  }

  @Override
  public Claim claim(String name, String token, Duration lease) {
    List<?> answer = (List<?>) run(Script.CLAIM, name, text(token), millis(lease));
    return switch (number(answer.get(0)).intValue()) {
      case 0 -> new Claim.Won();
      case 1 -> new Claim.Held(Duration.ofMillis(Math.max(0, number(answer.get(1)))));
      default -> completed(answer);
    };
  }

  private static Claim completed(List<?> answer) {
    String at = new String((byte[]) answer.get(1), US_ASCII);
    Completion completion =
        new Completion(
            (byte[]) answer.get(2),
            new String((byte[]) answer.get(3), UTF_8),
            (byte[]) answer.get(4));
    return new Claim.Completed(Instant.ofEpochMilli(Long.parseLong(at)), completion);
  }

  @Override
  public boolean renew(String name, String token, Duration lease) {
    return done(run(Script.RENEW, name, text(token), millis(lease)));
  }

  @Override
  public boolean complete(
      String name, String token, Completion completion, @Nullable Duration keep) {
    List<byte[]> arguments = new ArrayList<>();
    arguments.add(text(token));
    arguments.add(keep == null ? NOTHING : millis(keep));
    arguments.add(completion.request());
    arguments.add(text(completion.contentType()));
    byte[] answer = completion.answer();
    if (answer != null) {
      arguments.add(answer);
    }
    return done(run(Script.COMPLETE, name, arguments.toArray(byte[][]::new)));
  }

  @Override
  public boolean release(String name, String token) {
    return done(run(Script.RELEASE, name, text(token)));
  }

  /** True: Redis deletes receipts by itself when their time is over. */
  @Override
  public boolean forgets() {
    return true;
  }

  private Object run(Script script, String name, byte[]... arguments) {
    try {
      return script.run(jedis, text(prefix + name), List.of(arguments));
    } catch (JedisDataException e) {
      throw new StoreException(
          StoreException.Kind.TRANSIENT,
          ErrorCode.DATABASE_ERROR,
          "Redis refused: %s".formatted(e.getMessage()),
          e);
    } catch (JedisException e) {
      throw new StoreException(
          StoreException.Kind.UNKNOWN,
          ErrorCode.DATABASE_UNREACHABLE,
          "Redis cannot be reached, or did not answer: %s".formatted(e.getMessage()),
          e);
    }
  }

  private static boolean done(Object answer) {
    return number(answer) == 1;
  }

  private static Long number(Object answer) {
    return (Long) answer;
  }

  private static byte[] text(String text) {
    return text.getBytes(UTF_8);
  }

  /** At least one: a time of zero would delete what was just written. */
  private static byte[] millis(Duration time) {
    return text(Long.toString(Math.max(1, time.toMillis())));
  }
}
