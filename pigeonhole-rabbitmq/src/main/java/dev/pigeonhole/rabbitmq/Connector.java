package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.Address;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

/**
 * How a connection is made, and to whom.
 *
 * @param factory our own
 * @param nodes tried one after the other; none for the one that the factory names
 */
record Connector(ConnectionFactory factory, List<Address> nodes) {

  /** For people. */
  String place() {
    return nodes.isEmpty()
        ? factory.getHost() + ":" + factory.getPort()
        : nodes.stream().map(Address::toString).collect(Collectors.joining(", "));
  }

  Connection open(String name) throws IOException, TimeoutException {
    return nodes.isEmpty() ? factory.newConnection(name) : factory.newConnection(nodes, name);
  }
}
