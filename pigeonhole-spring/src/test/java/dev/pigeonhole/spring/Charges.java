package dev.pigeonhole.spring;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.IntConsumer;
import org.springframework.jdbc.core.JdbcTemplate;

/** What the listeners of these tests do: a note for each order, in the transaction they are in. */
class Charges {
  /** Longer than anything takes, however busy the machine is. */
  static final Duration LIMIT = Duration.ofMinutes(2);

  private final JdbcTemplate jdbc;
  private final List<String> runs = new CopyOnWriteArrayList<>();

  /** Is told how many runs there were, this one included, after the note was written. */
  volatile IntConsumer then = run -> {};

  Charges(JdbcTemplate jdbc) {
    this.jdbc = jdbc;
  }

  void charge(String order) {
    jdbc.update("INSERT INTO note (order_id) VALUES (?)", order);
    runs.add(order);
    then.accept(runs.size());
  }

  /** The orders of all runs, those that were rolled back included. */
  List<String> runs() {
    return List.copyOf(runs);
  }
}
