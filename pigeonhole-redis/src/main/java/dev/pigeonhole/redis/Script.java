package dev.pigeonhole.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * What happens to one key at once. Each is a script, because its look and its writes must not be
 * told apart by anybody, and because a process that dies between a write and its time to live would
 * leave a lease that never ends.
 *
 * <p>A key is a hash. {@code owner} is the token that has it, or had it last; {@code at} is there
 * when it is completed, in milliseconds. Times are those of the server: it counts down the time to
 * live, and it says what time it is.
 */
enum Script {
  /** Token and milliseconds. Answers 0, or 1 and the time left, or 2 and the receipt. */
  CLAIM(
      """
      local row = redis.call('HMGET', KEYS[1], 'owner', 'at', 'request', 'type', 'answer')
      if row[2] then return {2, row[2], row[3], row[4], row[5]} end
      if row[1] and row[1] ~= ARGV[1] then return {1, redis.call('PTTL', KEYS[1])} end
      redis.call('HSET', KEYS[1], 'owner', ARGV[1])
      redis.call('PEXPIRE', KEYS[1], ARGV[2])
      return {0}
      """),

  /** Token and milliseconds. */
  RENEW(
      """
      local row = redis.call('HMGET', KEYS[1], 'owner', 'at')
      if row[2] or (row[1] and row[1] ~= ARGV[1]) then return 0 end
      redis.call('HSET', KEYS[1], 'owner', ARGV[1])
      redis.call('PEXPIRE', KEYS[1], ARGV[2])
      return 1
      """),

  /** Token, milliseconds or nothing, hash of the request, media type, and the answer if any. */
  COMPLETE(
      """
      local row = redis.call('HMGET', KEYS[1], 'owner', 'at')
      if row[1] and row[1] ~= ARGV[1] then return 0 end
      if row[2] then return 1 end
      local now = redis.call('TIME')
      local at = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000))
      redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'at', at, 'request', ARGV[3], 'type', ARGV[4])
      if ARGV[5] then redis.call('HSET', KEYS[1], 'answer', ARGV[5]) end
      if ARGV[2] == '' then redis.call('PERSIST', KEYS[1])
      else redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
      return 1
      """),

  /** Token. */
  RELEASE(
      """
      local row = redis.call('HMGET', KEYS[1], 'owner', 'at')
      if row[2] or row[1] ~= ARGV[1] then return 0 end
      redis.call('DEL', KEYS[1])
      return 1
      """);

  private final String text;
  private final String sha1;

  Script(String text) {
    this.text = text;
    this.sha1 = HexFormat.of().formatHex(sha1(text.getBytes(US_ASCII)));
  }

  /** Sends the name of the script, and its text only to a server that has not seen it yet. */
  Object run(UnifiedJedis jedis, byte[] key, List<byte[]> arguments) {
    try {
      return jedis.evalsha(sha1.getBytes(US_ASCII), List.of(key), arguments);
    } catch (JedisNoScriptException e) {
      return jedis.eval(text.getBytes(US_ASCII), List.of(key), arguments);
    }
  }

  private static byte[] sha1(byte[] text) {
    try {
      return MessageDigest.getInstance("SHA-1").digest(text);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JVM has SHA-1", e);
    }
  }
}
