package dev.pigeonhole.spring;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

/** What handlers of these tests write, through Spring. */
class Notes {
  private final JdbcTemplate jdbc;

  Notes(JdbcTemplate jdbc) {
    this.jdbc = jdbc;
  }

  @Transactional
  public void write(String order) {
    jdbc.update("INSERT INTO note (order_id) VALUES (?)", order);
  }

  @Transactional
  public void writeAndFail(String order) {
    write(order);
    throw new IllegalStateException("the participant fails");
  }

  @Transactional(propagation = Propagation.REQUIRES_NEW)
  public void writeAlone(String order) {
    write(order);
  }
}
