package dev.pigeonhole.benchmarks.peers.springintegration;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.springframework.integration.support.MutableMessage;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;

/** Both ids and the payload, as they are: Java serialisation would cost it a good part of its time. */
final class PlainMessages {

  private PlainMessages() {}

  static void write(Message<?> message, OutputStream to) throws IOException {
    UUID id = Objects.requireNonNull(message.getHeaders().getId());
    DataOutputStream out = new DataOutputStream(to);
    out.writeLong(id.getMostSignificantBits());
    out.writeLong(id.getLeastSignificantBits());
    out.writeUTF(String.valueOf(message.getHeaders().get(Stores.ID)));
    out.write((byte[]) message.getPayload());
    out.flush();
  }

  /** With the id it had: the store removes it by that. */
  static Message<?> read(InputStream from) throws IOException {
    DataInputStream in = new DataInputStream(from);
    Map<String, Object> headers = new HashMap<>();
    headers.put(MessageHeaders.ID, new UUID(in.readLong(), in.readLong()));
    headers.put(Stores.ID, in.readUTF());
    return new MutableMessage<>(in.readAllBytes(), headers);
  }
}
