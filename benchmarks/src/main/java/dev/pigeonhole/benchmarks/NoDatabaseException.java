package dev.pigeonhole.benchmarks;

/** There is no database to measure on. */
final class NoDatabaseException extends Exception {
  private static final long serialVersionUID = 1L;

  NoDatabaseException(String message, Throwable cause) {
    super(message, cause);
  }
}
