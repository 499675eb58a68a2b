package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import java.io.IOException;

/** Ends connections and channels without waiting for anybody who may never answer. */
final class Connections {
  /** How long the broker may take to say goodbye. */
  static final int CLOSE_MILLIS = 5_000;

  private Connections() {}

  /**
   * In a thread of its own: a connection to a broker that does not read cannot even be closed while
   * somebody writes to it.
   */
  static void abort(Connection connection) {
    Thread thread = new Thread(() -> connection.abort(CLOSE_MILLIS), "pigeonhole-rabbitmq-close");
    thread.setDaemon(true);
    thread.start();
  }

  static void abort(Channel channel) {
    try {
      channel.abort();
    } catch (IOException e) {
      // It goes with its connection.
    }
  }
}
