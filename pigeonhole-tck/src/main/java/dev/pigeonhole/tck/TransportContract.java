package dev.pigeonhole.tck;

import org.junit.jupiter.api.Nested;

/**
 * What every transport must do, as tests. A transport proves itself by a test class that extends
 * this one and says how to reach what it sends to; see {@link BrokerTransportContract} for what
 * more can be asked where there is a connection to be torn.
 *
 * <pre>{@code
 * class MyTransportTest extends TransportContract {
 *   @Override
 *   protected TransportTarget target() {
 *     return new MyTarget(aNewQueue());
 *   }
 * }
 * }</pre>
 */
public abstract class TransportContract {

  /** An empty target. Called once for each test, and closed after it. */
  protected abstract TransportTarget target();

  @Nested
  class CarryingOut extends CarryOutContract {
    CarryingOut() {
      super(TransportContract.this);
    }
  }

  @Nested
  class Confirming extends ConfirmContract {
    Confirming() {
      super(TransportContract.this);
    }
  }

  @Nested
  class Failing extends SilenceContract {
    Failing() {
      super(TransportContract.this);
    }
  }
}
