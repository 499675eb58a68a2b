package dev.pigeonhole.examples.demo;

/** How orders get from where they are placed to the workers. */
interface Way extends AutoCloseable {

  /** Where the producer brings them. */
  Intake intake();

  void start();

  /** What has happened on it so far. */
  Transit transit();

  /** Whether everything that was to happen on it has happened, if nothing more is brought. */
  boolean finished();

  /** Fails if something has ended that nobody killed. */
  void checkAlive();

  /** Lets everything end in order, and takes nothing more. */
  void stop();

  /** The same at once. What has happened on it can still be asked for, until it is closed. */
  void kill();

  @Override
  void close();

  /** Straight to the workers, without a transport. */
  static Way straightTo(Intake workers) {
    return new Way() {
      @Override
      public Intake intake() {
        return workers;
      }

      @Override
      public void start() {}

      @Override
      public Transit transit() {
        return Transit.NONE;
      }

      @Override
      public boolean finished() {
        return true;
      }

      @Override
      public void checkAlive() {}

      @Override
      public void stop() {}

      @Override
      public void kill() {}

      @Override
      public void close() {}
    };
  }
}
