package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.ConnectionFactory;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;

/** How we connect, whatever else the user's factory says. */
final class Factories {
  private static final int RPC_MILLIS = 30_000;
  private static final int CONNECT_MILLIS = 10_000;
  private static final int HEARTBEAT_SECONDS = 10;

  /**
   * The client reads headers with a call for each level and some more for each byte; they are in
   * one frame of 131,072 bytes, and five of them make a level.
   */
  private static final long STACK_BYTES = 32L * 1024 * 1024;

  private static final ThreadFactory DEFAULT_THREADS = Executors.defaultThreadFactory();

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
    if (own.getThreadFactory().getClass() == DEFAULT_THREADS.getClass()) {
      own.setThreadFactory(Factories::thread);
    }
    return own;
  }

  /**
   * With room for headers of any depth: a stack that overflows ends the connection, and the same
   * message would end the next one. Memory is taken only for as much of it as is used.
   */
  private static Thread thread(Runnable work) {
    Thread thread = new Thread(null, work, "pigeonhole-rabbitmq-client", STACK_BYTES);
    thread.setDaemon(false); // as the client's own: whoever receives is not done
    return thread;
  }
}
