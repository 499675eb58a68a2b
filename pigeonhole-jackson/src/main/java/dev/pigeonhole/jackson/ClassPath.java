package dev.pigeonhole.jackson;

/** What else is there. */
final class ClassPath {
  private ClassPath() {}

  /** Whether our own classes could use this one; it is not initialised. */
  static boolean has(String className) {
    try {
      Class.forName(className, false, ClassPath.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException | LinkageError e) {
      return false;
    }
  }
}
