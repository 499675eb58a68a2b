package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.HandlerId;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A store in a database, with a table beside it that stands for what handlers write. */
abstract class DatabaseFixture extends StoreFixture {
  HandlerId a;
  HandlerId b;

  final DatabaseStoreContract database;

  DatabaseFixture(DatabaseStoreContract contract) {
    super(contract);
    this.database = contract;
  }

  @BeforeEach
  void createTheEffectsOfHandlers() throws SQLException {
    run("DROP TABLE IF EXISTS contract_effect");
    run("CREATE TABLE contract_effect (id VARCHAR(100) NOT NULL)");
    a = handler("a");
    b = handler("b");
  }

  @AfterEach
  void dropTheEffectsOfHandlers() throws SQLException {
    run("DROP TABLE IF EXISTS contract_effect");
  }

  DataSource dataSource() {
    return database.dataSource();
  }

  /** Runs one statement in a commit of its own. */
  void run(String sql) throws SQLException {
    try (Connection connection = dataSource().getConnection();
        Statement statement = connection.createStatement()) {
      connection.setAutoCommit(true);
      statement.execute(sql);
    }
  }

  /** A connection in a transaction, as a caller would have it. */
  Connection transaction() throws SQLException {
    Connection connection = dataSource().getConnection();
    connection.setAutoCommit(false);
    return connection;
  }

  /** Writes an effect through the connection of a handler. */
  static void effect(Connection connection, String id) throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO contract_effect (id) VALUES (?)")) {
      insert.setString(1, id);
      assertThat(insert.executeUpdate()).isEqualTo(1);
    }
  }

  /** The effects that others see. */
  List<String> effects() throws SQLException {
    try (Connection connection = dataSource().getConnection()) {
      return effects(connection);
    }
  }

  static List<String> effects(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT id FROM contract_effect ORDER BY id")) {
      List<String> ids = new ArrayList<>();
      while (rows.next()) {
        ids.add(rows.getString(1));
      }
      return ids;
    }
  }
}
