package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.ConnectionFactory;

/** How we connect, whatever else the user's factory says. */
final class Factories {
  private static final int RPC_MILLIS = 30_000;
  private static final int CONNECT_MILLIS = 10_000;
  private static final int HEARTBEAT_SECONDS = 10;

  private Factories() {}

  /**
   * A copy without the client's recovery, which would go on with numbers of a channel that is gone,
   * and that notices a link which is only half there within 20 seconds.
   */
  static ConnectionFactory own(ConnectionFactory factory) {
    ConnectionFactory own = factory.clone();
    own.setAutomaticRecoveryEnabled(false);
    own.setTopologyRecoveryEnabled(false);
    own.setChannelRpcTimeout(RPC_MILLIS);
    // What is too large is put aside; the client would end the connection, again and again.
    own.setMaxInboundMessageBodySize(Integer.MAX_VALUE);
    if (own.getConnectionTimeout() == ConnectionFactory.DEFAULT_CONNECTION_TIMEOUT) {
      own.setConnectionTimeout(CONNECT_MILLIS);
    }
    if (own.getRequestedHeartbeat() == ConnectionFactory.DEFAULT_HEARTBEAT) {
      own.setRequestedHeartbeat(HEARTBEAT_SECONDS);
    }
    return own;
  }
}
