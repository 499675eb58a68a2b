package dev.pigeonhole.benchmarks.peers.eventuate;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.peers.Setting;
import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import io.eventuate.common.jdbc.EventuateSchema;
import io.eventuate.common.jdbc.sqldialect.PostgresDialect;
import io.eventuate.common.spring.jdbc.EventuateSpringJdbcStatementExecutor;
import io.eventuate.common.spring.jdbc.EventuateSpringTransactionTemplate;
import io.eventuate.tram.consumer.common.DuplicateMessageDetector;
import io.eventuate.tram.consumer.jdbc.SqlTableBasedDuplicateMessageDetector;
import io.eventuate.tram.messaging.common.Message;
import io.eventuate.tram.messaging.common.MessageImpl;
import io.eventuate.tram.messaging.common.SubscriberIdAndMessage;
import java.sql.SQLException;
import java.util.Map;
import java.util.Set;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** The detector as its Spring configuration wires it, called by as many threads as a guard has. */
public final class EventuateSubject implements Subject {

  private static final int THREADS = 8;
  private static final int POOL = Setting.number("pool", THREADS);

  @Override
  public String dedup() {
    return "SqlTableBasedDuplicateMessageDetector inserts (consumer, message id) in the transaction"
        + " of the handler and skips the handler if they are there; the marker is kept for ever.";
  }

  @Override
  public String effects() {
    return "once: the handler and the marker are one transaction";
  }

  @Override
  public String settings() {
    return ("eventuate-tram-consumer-jdbc 0.36.0.RELEASE with its own JdbcTemplate and"
            + " TransactionTemplate adapters, marker and effect in one transaction, %d threads,"
            + " pool %d")
        .formatted(THREADS, POOL);
  }

  @Override
  public Set<String> scenarios() {
    return Set.of("guard");
  }

  /** As its own schema file for PostgreSQL. */
  @Override
  public void prepare(Run run) throws SQLException {
    try (Tables tables = new Tables(run.connect())) {
      tables.execute(
          """
          CREATE TABLE received_messages (
            consumer_id varchar(1000),
            message_id varchar(1000),
            creation_time bigint,
            published smallint DEFAULT 0,
            PRIMARY KEY (consumer_id, message_id)
          )
          """,
          "CREATE TABLE effect (id text)");
    }
  }

  @Override
  public long work(Run run) throws Exception {
    try (Tables tables = new Tables(run.connect());
        HikariDataSource pool = run.pool(POOL)) {
      JdbcTemplate jdbc = new JdbcTemplate(pool);
      DuplicateMessageDetector detector = detector(run, jdbc, pool);
      run.begin();
      Load.run(run.messages(), THREADS, 1, (from, to) -> receive(detector, jdbc, run, from));
      run.end();
      tables.checkOnce("effect", "id", run.messages());
      return tables.count("received_messages");
    }
  }

  private static DuplicateMessageDetector detector(
      Run run, JdbcTemplate jdbc, HikariDataSource pool) {
    return new SqlTableBasedDuplicateMessageDetector(
        new EventuateSchema(run.schema()),
        new PostgresDialect().getCurrentTimeInMillisecondsExpression(),
        new EventuateSpringJdbcStatementExecutor(jdbc),
        new EventuateSpringTransactionTemplate(
            new TransactionTemplate(new DataSourceTransactionManager(pool))));
  }

  private static void receive(
      DuplicateMessageDetector detector, JdbcTemplate jdbc, Run run, int message) {
    String id = run.id(message);
    Message received =
        new MessageImpl(new String(run.payload(message), ISO_8859_1), Map.of(Message.ID, id));
    detector.doWithMessage(
        new SubscriberIdAndMessage("handler", received),
        () -> jdbc.update("INSERT INTO effect (id) VALUES (?)", id));
  }
}
