package dev.pigeonhole.tck;

import org.junit.jupiter.api.Nested;

/** What a transport must do besides, whose connections may come and go. */
public abstract class BrokerTransportContract extends TransportContract {

  /** A target whose connections can be torn. */
  @Override
  protected abstract TornTarget target();

  /** What else can be done to a target. */
  public interface TornTarget extends TransportTarget {

    /** Tears every connection of its transports, and returns when that is done. */
    void disconnect();
  }

  @Nested
  class ConnectingAgain extends TornContract {
    ConnectingAgain() {
      super(BrokerTransportContract.this);
    }
  }
}
