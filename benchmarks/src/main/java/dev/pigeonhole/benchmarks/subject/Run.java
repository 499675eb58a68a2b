package dev.pigeonhole.benchmarks.subject;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.DriverDataSource;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** One run of one subject: what to do, where, and what was measured. */
public final class Run {

  // To make up a payload takes longer than to copy one; so few are made up, before the run.
  private static final int SAMPLES = 64;

  private final Map<String, String> given;
  private final Counters counters;
  private final Map<String, String> noted = new LinkedHashMap<>();
  private final RoundTrips roundTrips = new RoundTrips();
  private final byte[][] samples;
  private long tripsBefore;

  Run(Map<String, String> given, Counters counters) {
    this.given = given;
    this.counters = counters;
    this.samples = samples(number("seed", 0), number("payload", 0));
  }

  public String scenario() {
    return text("scenario");
  }

  public int messages() {
    return number("messages");
  }

  public int payloadBytes() {
    return number("payload");
  }

  public long seed() {
    return number("seed");
  }

  /** A connection opened with it works in the schema of the run. */
  public String jdbcUrl() {
    return text("url");
  }

  public String user() {
    return text("user");
  }

  public String password() {
    return text("password");
  }

  /** The name of the run's own schema. */
  public String schema() {
    return text("schema");
  }

  /** Where the broker is that messages come from, as its client wants to be told. */
  public String broker() {
    return text("broker");
  }

  /** An option of the scenario, such as the number of handlers. */
  public int number(String name) {
    return Integer.parseInt(text(name));
  }

  /** An option of the scenario that need not be there. */
  public int number(String name, int otherwise) {
    String value = given.get(name);
    return value == null ? otherwise : Integer.parseInt(value);
  }

  private String text(String name) {
    @Nullable String value = given.get(name);
    if (value == null) {
      throw new IllegalArgumentException("The run does not say: " + name);
    }
    return value;
  }

  /** A pool that everybody gets alike; at most 24 connections. */
  public HikariDataSource pool(int size) {
    HikariConfig config = new HikariConfig();
    if (counted()) {
      config.setDataSource(
          roundTrips.on(
              new DriverDataSource(jdbcUrl(), null, new Properties(), user(), password())));
    } else {
      config.setJdbcUrl(jdbcUrl());
      config.setUsername(user());
      config.setPassword(password());
    }
    config.setMaximumPoolSize(Math.min(size, 24));
    config.setMinimumIdle(Math.min(size, 24));
    return new HikariDataSource(config);
  }

  /** A connection of its own, for preparing and checking. */
  public Connection connect() throws SQLException {
    return DriverManager.getConnection(jdbcUrl(), user(), password());
  }

  /** The id of a message: unlike its neighbours', as ids from the world are. */
  public String id(int message) {
    long mixed = (message + seed() * 1_000_003L) * 0x9E3779B97F4A7C15L;
    return Long.toHexString(mixed ^ (mixed >>> 32)) + "-" + message;
  }

  /** Content of the size of the run that a compressor cannot shrink much. */
  public byte[] payload(int message) {
    return samples[message % SAMPLES].clone();
  }

  private static byte[][] samples(long seed, int length) {
    byte[][] samples = new byte[SAMPLES][length];
    SplittableRandom random = new SplittableRandom(seed);
    for (byte[] bytes : samples) {
      for (int i = 0; i < length; i++) {
        bytes[i] = (byte) ('a' + random.nextInt(26));
      }
    }
    return samples;
  }

  /** Everything is warm and ready: from here on it is measured. */
  public void begin() throws SQLException {
    tripsBefore = roundTrips.count();
    counters.begin();
  }

  /** The last completion is durable. */
  public void end() throws SQLException {
    counters.end();
    if (counted()) {
      note("roundTrips", roundTrips.count() - tripsBefore);
    }
  }

  /** Whether this run is there to count what crosses the wire, instead of the time it takes. */
  private boolean counted() {
    return number("counted", 0) == 1;
  }

  /** Something more that was seen, for example a percentile. */
  public void note(String name, Object value) {
    noted.put(name, String.valueOf(value));
  }

  Map<String, String> noted() {
    return noted;
  }
}
