package dev.pigeonhole.support;

import java.util.List;

/** Follows the bytes that a client sends and recognises the statements among them. */
interface RequestReader {

  /**
   * A statement that is about to reach the server.
   *
   * @param start where, in the bytes just fed, its last frame begins, or 0 if it began earlier; a
   *     server that gets nothing from here on does not execute the statement
   */
  record Request(int start, String sql) {}

  /** Takes the next bytes of the stream and returns the statements that end in them. */
  List<Request> feed(byte[] bytes, int length);

  /** For protocols that we do not know. */
  static RequestReader none() {
    return (bytes, length) -> List.of();
  }

  static RequestReader of(DatabaseKind kind) {
    return switch (kind) {
      case POSTGRES -> new PostgresRequests();
      case MARIADB -> new MariaDbRequests();
      case H2 -> none();
    };
  }
}
