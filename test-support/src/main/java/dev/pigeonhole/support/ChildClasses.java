package dev.pigeonhole.support;

/**
 * Does once what the child processes of a module do, so that the classes that they load are in
 * their class archive. It runs in a JVM of its own while the archive is made. Found by the service
 * loader.
 */
public interface ChildClasses {
  void use() throws Exception;
}
