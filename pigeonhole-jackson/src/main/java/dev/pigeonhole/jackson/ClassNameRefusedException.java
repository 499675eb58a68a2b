package dev.pigeonhole.jackson;

/** The content was about to choose a class by its name. */
final class ClassNameRefusedException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  ClassNameRefusedException(Class<?> type) {
    super(type.getName());
  }
}
