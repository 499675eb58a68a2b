package dev.pigeonhole.tck;

import org.junit.jupiter.api.Nested;

/** What a source must do besides, whose messages are kept by a broker that may come and go. */
public abstract class BrokerSourceContract extends SourceContract {

  /** A broker whose connections can be torn. */
  @Override
  protected abstract TornBroker broker();

  /** What else can be done to a broker. */
  public interface TornBroker extends SourceBroker {

    /** Tears every connection of its sources, and returns when that is done. */
    void disconnect();
  }

  @Nested
  class Reconnecting extends ReconnectContract {
    Reconnecting() {
      super(BrokerSourceContract.this);
    }
  }
}
