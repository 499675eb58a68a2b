package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreException.Kind;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Rejects connections of callers that lead to other tables than those of the store: what is written
 * there is committed, and no handler ever gets it.
 *
 * <p>The tables have a random number, which is read once for each physical connection. A connection
 * is remembered only if it unwraps to one of the driver, since a wrapper may change its target. All
 * statements name the schema, so a session cannot be moved to other tables afterwards.
 */
final class OwnTables {

  private static final String ID = "SELECT store_id FROM {store} WHERE id = 1";

  private static final String UNDEFINED_SCHEMA_OF_H2 = "90079";

  /**
   * The number of some tables.
   *
   * @param id null if no store has been opened on them, or if they were emptied
   */
  private record Found(@Nullable Long id, String place) {}

  private final Jdbc jdbc;
  private final @Nullable Class<? extends Connection> driverConnection;

  /**
   * The checked connections of the driver. They compare by identity, and an entry disappears with
   * its connection.
   */
  private final Map<Connection, Boolean> known = Collections.synchronizedMap(new WeakHashMap<>());

  private volatile @Nullable Found own;

  OwnTables(Jdbc jdbc, @Nullable ClassLoader loaderOfThePool) {
    this.jdbc = jdbc;
    this.driverConnection =
        driverConnection(
            jdbc.dialect.driverConnection(),
            OwnTables.class.getClassLoader(),
            loaderOfThePool,
            Thread.currentThread().getContextClassLoader());
  }

  private static @Nullable Class<? extends Connection> driverConnection(
      String name, @Nullable ClassLoader... loaders) {
    for (ClassLoader loader : loaders) {
      try {
        return Class.forName(name, false, loader).asSubclass(Connection.class);
      } catch (ClassNotFoundException | LinkageError | ClassCastException e) {
        // Perhaps the next one; else every call is checked.
      }
    }
    return null;
  }

  /** Gives the tables their number if they have none. */
  void open(Session session) throws SQLException {
    Optional<Long> id = id(session, "");
    if (id.isEmpty()) {
      session.insertIfAbsent(
          "INSERT INTO {store} (id, store_id) VALUES ",
          "id",
          "(1, ?)",
          List.of(new SecureRandom().nextLong()),
          Params::add);
      id = id(session, "");
    }
    own = new Found(id.orElseThrow(), Parts.place(session.connection));
  }

  private static Optional<Long> id(Session session, String tail) throws SQLException {
    return session.one(ID + tail, params -> {}, row -> row.getLong(1));
  }

  /**
   * Checks where a session of a caller leads to.
   *
   * @param given the connection as the caller has given it
   * @throws StoreException if these are not the tables of this store
   */
  void check(Session session, Connection given) throws SQLException {
    Connection physical = physical(session.connection);
    if (physical != null && known.containsKey(physical)) {
      return;
    }
    Long there = idThere(session, given);
    Found here = own;
    if (here == null || !Objects.equals(here.id(), there)) {
      here = lookAgain(here); // the tables may have been made again since
      if (!Objects.equals(here.id(), there)) {
        throw foreign(
            "The connection leads to %s, and the tables of this store are in %s."
                .formatted(Parts.place(session.connection), here.place()),
            null);
      }
    }
    if (physical != null && there != null) {
      known.put(physical, true);
    }
  }

  private @Nullable Long idThere(Session session, Connection given) throws SQLException {
    try {
      return id(session, session.dialect.withoutSnapshot()).orElse(null);
    } catch (SQLException e) {
      if (!isAbout(e)) {
        throw e;
      }
      UnitConnection.failed(given, e);
      throw foreign(
          "The connection does not find the tables of this store, %s, or may not read them: %s."
              .formatted(session.sql("{store}"), Errors.describe(e)),
          ServerWords.only(e));
    }
  }

  /** Whether the server has no such table, does not show it, or does not understand the names. */
  private boolean isAbout(SQLException e) {
    Fault fault = jdbc.dialect.fault(e);
    String state = Errors.root(e).getSQLState();
    return fault == Fault.FORBIDDEN
        || (fault == Fault.OTHER
            && state != null
            && (state.startsWith("42") || state.equals(UNDEFINED_SCHEMA_OF_H2)));
  }

  /** On a connection of the store itself; where there is none now, what was known counts. */
  private Found lookAgain(@Nullable Found former) {
    try {
      Found found =
          jdbc.read(
              session -> new Found(id(session, "").orElse(null), Parts.place(session.connection)));
      own = found;
      return found;
    } catch (StoreException e) {
      if (former == null) {
        throw e;
      }
      return former;
    }
  }

  private static StoreException foreign(String what, @Nullable SQLException cause) {
    return new StoreException(
        Kind.PERMANENT,
        ErrorCode.TX_MANAGER_FOREIGN,
        what
            + " Nothing was written. Use a connection to the database of the store, best from its own"
            + " data source, or call the method without a connection.",
        cause);
  }

  /** The connection of the driver; null if nobody can tell which one it is. */
  private @Nullable Connection physical(Connection connection) {
    if (driverConnection == null) {
      return null;
    }
    try {
      if (driverConnection.isInstance(connection)) {
        return connection;
      }
      // One of a unit refuses to be unwrapped, and blames the handler for it.
      return connection.isWrapperFor(driverConnection) ? connection.unwrap(driverConnection) : null;
    } catch (SQLException | AbstractMethodError | RuntimeException e) {
      return null;
    }
  }
}
