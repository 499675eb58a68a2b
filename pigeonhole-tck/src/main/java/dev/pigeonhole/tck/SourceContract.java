package dev.pigeonhole.tck;

import org.junit.jupiter.api.Nested;

/**
 * What every source must do, as tests. A source proves itself by a test class that extends this one
 * and says how to reach what it reads from; see {@link BrokerSourceContract} for what more a broker
 * allows to be asked.
 *
 * <pre>{@code
 * class MySourceTest extends SourceContract {
 *   @Override
 *   protected SourceBroker broker() {
 *     return new MyBroker(aNewQueue());
 *   }
 * }
 * }</pre>
 */
public abstract class SourceContract {

  /** A broker with an empty queue. Called once for each test, and closed after it. */
  protected abstract SourceBroker broker();

  @Nested
  class Carrying extends CarryContract {
    Carrying() {
      super(SourceContract.this);
    }
  }

  @Nested
  class Acknowledging extends AcknowledgeContract {
    Acknowledging() {
      super(SourceContract.this);
    }
  }

  @Nested
  class StartingAndStopping extends LifeContract {
    StartingAndStopping() {
      super(SourceContract.this);
    }
  }
}
