package dev.pigeonhole.benchmarks.peers.camel;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.peers.Setting;
import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import java.sql.SQLException;
import java.util.Set;
import org.apache.camel.CamelContext;
import org.apache.camel.ProducerTemplate;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.impl.DefaultCamelContext;
import org.apache.camel.processor.idempotent.jdbc.JdbcMessageIdRepository;
import org.apache.camel.spi.IdempotentRepository;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** A route that writes the effect, behind an idempotent consumer with its repository in SQL. */
public final class CamelSubject implements Subject {

  private static final int THREADS = 8;

  // The documentation shows the marker apart. In a transaction around both it is faster, and safer.
  private static final boolean ONE_TRANSACTION = Setting.yes("oneTransaction", true);

  private static final String ROUTE = "direct:in";
  private static final String ID = "messageId";

  @Override
  public String dedup() {
    return "idempotentConsumer looks for the id and inserts it before the handler, and skips a repeat;"
        + (ONE_TRANSACTION
            ? " marker and effect commit together"
            : " the marker commits on its own, apart from the effect: a crash in between loses the"
                + " message")
        + "; the marker is kept for ever.";
  }

  @Override
  public String effects() {
    return ONE_TRANSACTION
        ? "once: the handler and the marker are one transaction"
        : "at most once: the marker commits before the handler";
  }

  @Override
  public String settings() {
    return ("camel-sql 4.22.0, JdbcMessageIdRepository, eager, direct route, %s, %d threads, pool %d")
        .formatted(
            ONE_TRANSACTION
                ? "marker and effect in one transaction"
                : "marker in a transaction of its own, as documented",
            THREADS,
            THREADS);
  }

  @Override
  public Set<String> scenarios() {
    return Set.of("guard");
  }

  /** The repository makes its own table when it starts. */
  @Override
  public void prepare(Run run) throws SQLException {
    try (Tables tables = new Tables(run.connect())) {
      tables.execute("CREATE TABLE effect (id text)");
    }
  }

  @Override
  public long work(Run run) throws Exception {
    try (Tables tables = new Tables(run.connect());
        HikariDataSource pool = run.pool(THREADS);
        CamelContext camel = new DefaultCamelContext()) {
      TransactionTemplate transactions = new TransactionTemplate(new JdbcTransactionManager(pool));
      route(camel, new JdbcMessageIdRepository(pool, transactions, "handler"), pool);
      camel.start();
      try (ProducerTemplate sender = camel.createProducerTemplate()) {
        run.begin();
        Load.run(run.messages(), THREADS, 1, (from, to) -> send(sender, transactions, run, from));
        run.end();
      }
      tables.checkOnce("effect", "id", run.messages());
      return tables.count("camel_messageprocessed");
    }
  }

  private static void route(
      CamelContext camel, IdempotentRepository repository, HikariDataSource pool) throws Exception {
    JdbcTemplate effects = new JdbcTemplate(pool);
    RouteBuilder.addRoutes(
        camel,
        route ->
            route
                .from(ROUTE)
                .idempotentConsumer(route.header(ID), repository)
                .process(
                    exchange ->
                        effects.update(
                            "INSERT INTO effect (id) VALUES (?)",
                            exchange.getMessage().getHeader(ID, String.class))));
  }

  private static void send(
      ProducerTemplate sender, TransactionTemplate transactions, Run run, int message) {
    if (ONE_TRANSACTION) {
      transactions.executeWithoutResult(status -> send(sender, run, message));
    } else {
      send(sender, run, message);
    }
  }

  private static void send(ProducerTemplate sender, Run run, int message) {
    sender.sendBodyAndHeader(ROUTE, run.payload(message), ID, run.id(message));
  }
}
