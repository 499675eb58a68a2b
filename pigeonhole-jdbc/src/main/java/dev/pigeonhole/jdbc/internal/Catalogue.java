package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.jdbc.internal.TableShape.Column;
import dev.pigeonhole.jdbc.internal.TableShape.Key;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The tables as the database has them. Every database is asked in its own words: what JDBC tells
 * hides conditions, prefixes, directions and invalid indexes.
 */
final class Catalogue {

  private static final String POSTGRES_COLUMNS =
      """
      SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), l.collname,
             NOT a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
             a.attidentity <> '' OR a.attgenerated <> ''
      FROM pg_attribute a
      JOIN pg_class c ON c.oid = a.attrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      LEFT JOIN pg_collation l ON l.oid = a.attcollation
      WHERE n.nspname = ? AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
        AND c.relname IN (%s)
      ORDER BY c.relname, a.attnum
      """;

  // One that is not valid, or checks at the commit only, does not count.
  private static final String POSTGRES_KEYS =
      """
      SELECT c.relname, x.relname, i.indisunique, a.attname, (i.indoption[k.n - 1] & 1) <> 0,
             pg_get_expr(i.indpred, i.indrelid)
      FROM pg_index i
      JOIN pg_class c ON c.oid = i.indrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_class x ON x.oid = i.indexrelid
      JOIN pg_am m ON m.oid = x.relam
      CROSS JOIN LATERAL generate_series(1, i.indnkeyatts::int) AS k(n)
      LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.n - 1]
      WHERE n.nspname = ? AND m.amname = 'btree' AND i.indisvalid AND i.indisready
        AND i.indimmediate AND c.relname IN (%s)
      ORDER BY c.relname, x.relname, k.n
      """;

  private static final String MARIADB_COLUMNS =
      """
      SELECT table_name, column_name, column_type, collation_name, is_nullable = 'YES',
             CASE WHEN column_default = 'NULL' THEN NULL ELSE column_default END,
             extra LIKE '%%auto_increment%%' OR extra LIKE '%%generated%%'
      FROM information_schema.columns
      WHERE table_schema = ? AND table_name IN (%s)
      ORDER BY table_name, ordinal_position
      """;

  // A key on the beginnings of values takes different ones for equal.
  private static final String MARIADB_KEYS =
      """
      SELECT table_name, index_name, non_unique = 0,
             CASE WHEN sub_part IS NULL THEN column_name
                  ELSE CONCAT(column_name, '(', sub_part, ')') END,
             COALESCE(s.collation, 'A') = 'D', NULL
      FROM information_schema.statistics s
      WHERE table_schema = ? AND s.ignored = 'NO' AND index_type = 'BTREE' AND table_name IN (%s)
      ORDER BY table_name, index_name, seq_in_index
      """;

  private static final String H2_COLUMNS =
      """
      SELECT table_name, column_name,
             CASE WHEN datetime_precision IS NOT NULL
                  THEN REPLACE(data_type, 'TIMESTAMP', 'TIMESTAMP(' || datetime_precision || ')')
                  WHEN character_maximum_length IS NOT NULL
                  THEN data_type || '(' || character_maximum_length || ')'
                  ELSE data_type END,
             CAST(NULL AS varchar), is_nullable = 'YES', column_default,
             is_identity = 'YES' OR is_generated = 'ALWAYS'
      FROM information_schema.columns
      WHERE table_schema = ? AND table_name IN (%s)
      ORDER BY table_name, ordinal_position
      """;

  private static final String H2_KEYS =
      """
      SELECT i.table_name, i.index_name,
             i.index_type_name LIKE '%%UNIQUE%%' OR i.index_type_name LIKE '%%PRIMARY%%',
             c.column_name, c.ordering_specification = 'DESC', CAST(NULL AS varchar)
      FROM information_schema.indexes i
      JOIN information_schema.index_columns c
        ON c.index_schema = i.index_schema AND c.index_name = i.index_name
      WHERE i.table_schema = ? AND i.table_name IN (%s)
      ORDER BY i.table_name, i.index_name, c.ordinal_position
      """;

  private static final String POSTGRES_SEQUENCE =
      """
      SELECT s.seqincrement
      FROM pg_sequence s
      JOIN pg_class c ON c.oid = s.seqrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ? AND c.relname = ?
      """;

  private static final String MARIADB_SEQUENCE =
      """
      SELECT 1
      FROM information_schema.tables
      WHERE table_schema = ? AND table_name = ? AND table_type = 'SEQUENCE'
      """;

  private static final String H2_SEQUENCE =
      """
      SELECT increment
      FROM information_schema.sequences
      WHERE sequence_schema = ? AND sequence_name = ?
      """;

  /**
   * How a kind of database is asked.
   *
   * @param columns of these tables, in their order
   * @param keys of these tables, and what each is made of
   * @param sequence its step, or anything if there is such a sequence, see {@code asTable}
   * @param asTable whether a sequence is a table with one row, which alone tells the step
   * @param lowerCase whether a server may keep all names of tables in lower case
   */
  record Questions(
      String columns, String keys, String sequence, boolean asTable, boolean lowerCase) {}

  static final Questions POSTGRES =
      new Questions(POSTGRES_COLUMNS, POSTGRES_KEYS, POSTGRES_SEQUENCE, false, false);
  static final Questions MARIADB =
      new Questions(MARIADB_COLUMNS, MARIADB_KEYS, MARIADB_SEQUENCE, true, true);
  static final Questions H2 = new Questions(H2_COLUMNS, H2_KEYS, H2_SEQUENCE, false, false);

  private record NamedKey(String table, String name) {}

  private final Session session;
  private final Questions questions;
  private final Map<String, TableShape> tables = new LinkedHashMap<>();
  private final Map<NamedKey, Key> keys = new LinkedHashMap<>();

  private Catalogue(Session session) {
    this.session = session;
    this.questions = session.dialect.catalogue();
  }

  /** Those of these tables that there are, by the names they were asked for. */
  static Map<String, TableShape> read(Session session, List<String> names) throws SQLException {
    Catalogue catalogue = new Catalogue(session);
    catalogue.read(names);
    Map<String, TableShape> found = new LinkedHashMap<>();
    for (String name : names) {
      TableShape shape = catalogue.named(name);
      if (shape != null) {
        found.put(name, shape);
      }
    }
    return found;
  }

  /**
   * By how much a sequence steps, or nothing if there is none.
   *
   * @param name without prefix
   */
  static Optional<Long> step(Session session, String name) throws SQLException {
    Questions questions = session.dialect.catalogue();
    Optional<Long> found =
        session.one(
            questions.sequence(),
            params -> params.add(session.tables.schema()).add(session.tables.plain(name)),
            row -> row.getLong(1));
    return found.isPresent() && questions.asTable()
        ? session.one(
            "SELECT increment FROM " + session.tables.qualified(name),
            params -> {},
            row -> row.getLong(1))
        : found;
  }

  private @Nullable TableShape named(String name) {
    TableShape exact = tables.get(name);
    return exact == null && questions.lowerCase()
        ? tables.get(name.toLowerCase(Locale.ROOT))
        : exact;
  }

  private void read(List<String> names) throws SQLException {
    String places = Session.repeat("?", names.size());
    Session.Bind bind =
        params -> {
          params.add(session.tables.schema());
          for (String name : names) {
            params.add(name);
          }
        };
    session.query(questions.columns().formatted(places), bind, this::column);
    session.query(questions.keys().formatted(places), bind, this::key);
    keys.forEach(
        (named, key) -> {
          TableShape table = tables.get(named.table());
          if (table != null) {
            table.keys().add(key);
          }
        });
  }

  private boolean column(ResultSet row) throws SQLException {
    String spelt = row.getString(2);
    String name = spelt.toLowerCase(Locale.ROOT);
    Column column =
        new Column(
            name,
            session.dialect.quote() + spelt + session.dialect.quote(),
            ColumnType.of(session.dialect, row.getString(3)),
            row.getString(4),
            row.getBoolean(5),
            Blueprint.initial(row.getString(6)),
            row.getBoolean(7));
    tables.computeIfAbsent(row.getString(1), TableShape::empty).columns().put(name, column);
    return true;
  }

  private boolean key(ResultSet row) throws SQLException {
    String name = row.getString(2);
    boolean unique = row.getBoolean(3);
    String column = row.getString(4);
    String shown = column == null ? "(an expression)" : column.toLowerCase(Locale.ROOT);
    String ordered = row.getBoolean(5) ? shown + " desc" : shown;
    String condition = Blueprint.condition(row.getString(6));
    keys.computeIfAbsent(
            new NamedKey(row.getString(1), name),
            any -> new Key(name, unique, new ArrayList<>(), condition))
        .columns()
        .add(ordered);
    return true;
  }
}
