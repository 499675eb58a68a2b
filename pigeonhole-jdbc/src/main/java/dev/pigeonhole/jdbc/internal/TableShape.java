package dev.pigeonhole.jdbc.internal;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A table, as a script describes it or as the catalogue shows it.
 *
 * @param columns in their order, by their names in lower case
 */
record TableShape(String name, Map<String, Column> columns, List<Key> keys) {

  /**
   * A column.
   *
   * @param definition what would add it again; from a catalogue, its quoted name
   * @param collation null for the database's own, or where there is none
   * @param initial the default, without quotes and casts; null for none
   * @param filled whether the database fills it by itself: numbered or generated
   */
  record Column(
      String name,
      String definition,
      ColumnType type,
      @Nullable String collation,
      boolean nullable,
      @Nullable String initial,
      boolean filled) {

    /** Whether a row can be stored by somebody who does not know of it. */
    boolean mayBeLeftOut() {
      return nullable || initial != null || filled;
    }
  }

  /**
   * A primary key, a unique constraint or an index.
   *
   * @param name empty where the database chooses one
   * @param columns in lower case; one that goes down, is cut or is an expression does not look like
   *     a name
   * @param condition of a partial index, without parentheses; null for all rows
   */
  record Key(String name, boolean unique, List<String> columns, @Nullable String condition) {

    /** Whether it keeps apart, and finds, what the other one would. */
    boolean doesTheWorkOf(Key other) {
      boolean sameRows = condition == null || condition.equals(other.condition);
      if (other.unique) {
        return unique && sameRows && columns.equals(other.columns);
      }
      return sameRows
          && columns.size() >= other.columns.size()
          && columns.subList(0, other.columns.size()).equals(other.columns);
    }
  }

  static TableShape empty(String name) {
    return new TableShape(name, new LinkedHashMap<>(), new ArrayList<>());
  }
}
