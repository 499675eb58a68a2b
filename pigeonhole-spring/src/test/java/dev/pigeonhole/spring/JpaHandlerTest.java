package dev.pigeonhole.spring;

import static dev.pigeonhole.spring.World.order;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.support.Eventually;
import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceContext;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;

/** What is written through JPA and JdbcTemplate commits with the receipt. */
class JpaHandlerTest {
  private static final int COPIES = 8;
  private static final int IDS = 500;
  private static final Duration LONG = Duration.ofMinutes(3);

  static class Stock {
    @PersistenceContext private EntityManager entities;
    private final JdbcTemplate jdbc;
    final AtomicInteger calls = new AtomicInteger();
    final AtomicInteger failures = new AtomicInteger();

    Stock(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    void reserve(OrderPlaced order) {
      write(order);
      if (calls.incrementAndGet() % 10 == 3 && failures.incrementAndGet() <= 20) {
        throw new IllegalStateException("after it has written");
      }
    }

    void write(OrderPlaced order) {
      entities.persist(new Effect(order.order()));
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
    }

    /** Its CGLIB proxy hands out the counters of the target only through methods. */
    int failures() {
      return failures.get();
    }
  }

  static class InlineStock {
    @PersistenceContext private EntityManager entities;
    private final JdbcTemplate jdbc;

    InlineStock(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock", inline = true)
    @Transactional
    void reserve(OrderPlaced order) {
      entities.persist(new Effect(order.order()));
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.order());
    }
  }

  static class SharingStock {
    @PersistenceContext private EntityManager entities;

    @InboxHandler(channel = "orders", key = "reserve-stock", sharedCommits = 50)
    @Transactional
    void reserve(OrderPlaced order) {
      entities.persist(new Effect(order.order()));
    }
  }

  private static void acceptCopies(World world) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(COPIES);
    CyclicBarrier together = new CyclicBarrier(COPIES);
    try {
      List<Callable<Void>> copies = new ArrayList<>();
      for (int copy = 0; copy < COPIES; copy++) {
        copies.add(
            () -> {
              together.await();
              for (int id = 0; id < IDS; id++) {
                Acceptance answer = world.inbox().accept("orders", order(id));
                while (!(answer instanceof Acceptance.Accepted
                    || answer instanceof Acceptance.Repeat)) {
                  answer = world.inbox().accept("orders", order(id)); // busy: the first is at it
                }
              }
              return null;
            });
      }
      for (Future<Void> each : threads.invokeAll(copies)) {
        each.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static long doubled(World world) {
    return world.database.count(
        "SELECT count(*) FROM (SELECT order_id FROM effect GROUP BY order_id HAVING count(*) > 1) d");
  }

  @Test
  void eightCopiesOfFiveHundredMessagesAreFiveHundredEffects() throws Exception {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jpa.class, World.WithInbox.class, World.Running.class)
          .with(Stock.class)
          .start();
      acceptCopies(world);
      Eventually.until(LONG, () -> world.effects() >= IDS);
      world.bean(PigeonholeLifecycle.class).stop();
      while (world.inbox().drain() > 0) {
        // what had failed is tried again
      }
      Eventually.until(
          LONG,
          () -> {
            world.inbox().drain();
            return world.completed() >= IDS;
          });

      assertThat(world.bean(Stock.class).failures()).isGreaterThanOrEqualTo(20);
      assertThat(world.effects()).isEqualTo(IDS);
      assertThat(doubled(world)).isZero();
      assertThat(world.notes()).isEqualTo(IDS);
    }
  }

  @Test
  void anInlineHandlerRunsOnceForEightCopies() throws Exception {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jpa.class, World.WithInbox.class)
          .with(InlineStock.class)
          .start();
      acceptCopies(world);

      assertThat(world.effects()).isEqualTo(IDS);
      assertThat(doubled(world)).isZero();
      assertThat(world.notes()).isEqualTo(IDS);
    }
  }

  @Test
  void sharedCommitsAreShared() {
    try (World world = World.postgres()) {
      world
          .with(World.Basics.class, World.Jpa.class, World.WithInbox.class)
          .with(SharingStock.class)
          .start();
      for (int id = 0; id < 100; id++) {
        world.inbox().accept("orders", order(id));
      }
      while (world.inbox().drain() > 0) {
        // all of it
      }
      assertThat(world.effects()).isEqualTo(100);
      assertThat(world.database.count("SELECT count(DISTINCT xmin::text) FROM effect"))
          .isLessThan(100);
    }
  }
}
