package dev.pigeonhole.jdbc.internal;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a column can hold, whatever its database calls it.
 *
 * @param size bytes of a number, most characters or bytes, or digits of a second
 * @param shown as a script or a catalogue spells it
 */
record ColumnType(Kind kind, long size, String shown) {

  /** Only values of one kind can stand in for each other. */
  enum Kind {
    NUMBER,
    BOOLEAN,
    TEXT,
    /** Text in which upper and lower case are the same. */
    FOLDED_TEXT,
    BYTES,
    /** Bytes that are filled up to the full length. */
    PADDED_BYTES,
    TIME,
    /** Anything that our scripts do not use. */
    OTHER
  }

  private static final long UNLIMITED = Long.MAX_VALUE;

  /** What H2 2.2 takes without a length; later versions take more. */
  private static final long H2_STRING = 1L << 20;

  /** As large as a payload can be. */
  private static final long H2_LARGE_OBJECT = 1_000_000_000;

  private static final long BYTE_SIZED = 255;
  private static final long TWO_BYTE_SIZED = 65_535;
  private static final long THREE_BYTE_SIZED = 16_777_215;
  private static final long FOUR_BYTE_SIZED = 4_294_967_295L;
  private static final int MICROSECONDS = 6;

  private static final Pattern TEXT =
      Pattern.compile(
          "([a-z_ ]+?) ?(?:\\((\\d+)[^)]*\\))?((?: with| without)[a-z ]+)?( unsigned.*)?");

  /** Reads a type as scripts and catalogues of this dialect spell it. */
  static ColumnType of(Dialect dialect, String text) {
    String lower = text.toLowerCase(Locale.ROOT).strip();
    Matcher parts = TEXT.matcher(lower);
    if (!parts.matches() || parts.group(4) != null) {
      return new ColumnType(Kind.OTHER, 0, lower);
    }
    String name = parts.group(1) + (parts.group(3) == null ? "" : parts.group(3));
    long size = parts.group(2) == null ? -1 : Long.parseLong(parts.group(2));
    return switch (dialect.name()) {
      case "postgresql" -> postgres(name, size, lower);
      case "mariadb" -> mariaDb(name, size, lower);
      default -> h2(name, size, lower);
    };
  }

  private static ColumnType postgres(String name, long size, String shown) {
    return switch (name) {
      case "text", "varchar", "character varying" ->
          new ColumnType(Kind.TEXT, or(size, UNLIMITED), shown);
      case "bytea" -> new ColumnType(Kind.BYTES, UNLIMITED, shown);
      case "boolean" -> new ColumnType(Kind.BOOLEAN, 0, shown);
      case "timestamptz", "timestamp with time zone" ->
          new ColumnType(Kind.TIME, or(size, MICROSECONDS), shown);
      default -> number(name, shown);
    };
  }

  private static ColumnType h2(String name, long size, String shown) {
    return switch (name) {
      case "varchar", "character varying" -> new ColumnType(Kind.TEXT, or(size, H2_STRING), shown);
      case "varchar_ignorecase" -> new ColumnType(Kind.FOLDED_TEXT, or(size, H2_STRING), shown);
      case "varbinary", "binary varying" -> new ColumnType(Kind.BYTES, or(size, H2_STRING), shown);
      case "blob", "binary large object" ->
          new ColumnType(Kind.BYTES, or(size, H2_LARGE_OBJECT), shown);
      case "boolean" -> new ColumnType(Kind.BOOLEAN, 0, shown);
      case "timestamp with time zone" -> new ColumnType(Kind.TIME, or(size, MICROSECONDS), shown);
      default -> number(name, shown);
    };
  }

  /** A display width, as in bigint(20), says nothing about the range. */
  private static ColumnType mariaDb(String name, long size, String shown) {
    return switch (name) {
      case "varbinary" -> new ColumnType(Kind.BYTES, or(size, 0), shown);
      case "tinyblob" -> new ColumnType(Kind.BYTES, BYTE_SIZED, shown);
      case "blob" -> new ColumnType(Kind.BYTES, TWO_BYTE_SIZED, shown);
      case "mediumblob" -> new ColumnType(Kind.BYTES, THREE_BYTE_SIZED, shown);
      case "longblob" -> new ColumnType(Kind.BYTES, FOUR_BYTE_SIZED, shown);
      case "binary" -> new ColumnType(Kind.PADDED_BYTES, or(size, 1), shown);
      case "varchar" -> new ColumnType(Kind.TEXT, or(size, 0), shown);
      case "tinytext" -> new ColumnType(Kind.TEXT, BYTE_SIZED, shown);
      case "text" -> new ColumnType(Kind.TEXT, TWO_BYTE_SIZED, shown);
      case "mediumtext" -> new ColumnType(Kind.TEXT, THREE_BYTE_SIZED, shown);
      case "longtext" -> new ColumnType(Kind.TEXT, FOUR_BYTE_SIZED, shown);
      case "datetime" -> new ColumnType(Kind.TIME, or(size, 0), shown);
      default -> number(name, shown);
    };
  }

  private static ColumnType number(String name, String shown) {
    int bytes =
        switch (name) {
          case "tinyint", "boolean" -> 1;
          case "smallint" -> 2;
          case "mediumint" -> 3;
          case "int", "integer" -> 4;
          case "bigint" -> 8;
          default -> 0;
        };
    return new ColumnType(bytes == 0 ? Kind.OTHER : Kind.NUMBER, bytes, shown);
  }

  private static long or(long size, long otherwise) {
    return size < 0 ? otherwise : size;
  }

  /**
   * Whether everything that fits into the other type fits into this one and comes back as it was.
   */
  boolean holds(ColumnType other) {
    return switch (other.kind) {
      case OTHER -> shown.equals(other.shown);
      case PADDED_BYTES ->
          kind == Kind.PADDED_BYTES ? size == other.size : kind == Kind.BYTES && size >= other.size;
      default -> kind == other.kind && size >= other.size;
    };
  }

  /** Whether the rules of some language decide here about what should be compared as it is. */
  boolean comparesLess(ColumnType other) {
    return kind == Kind.FOLDED_TEXT
        || (other.kind == Kind.BYTES && (kind == Kind.TEXT || shown.startsWith("char")));
  }
}
