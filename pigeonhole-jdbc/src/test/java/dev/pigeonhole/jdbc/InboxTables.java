package dev.pigeonhole.jdbc;

import dev.pigeonhole.support.TestDatabase;

/** The tables of an inbox, for tests that change rows only. */
public final class InboxTables {

  private InboxTables() {}

  /** Makes them, or takes those of a test that has ended. */
  public static void in(TestDatabase database) {
    database.prepare("inbox", it -> Schema.migrate(it.dataSource()));
  }
}
