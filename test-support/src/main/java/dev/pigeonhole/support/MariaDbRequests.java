package dev.pigeonhole.support;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * The client side of the MariaDB protocol, as far as it carries the text of statements: those sent
 * as COM_QUERY. Statements prepared on the server go unnoticed; the driver does that only when told
 * to, and never for COMMIT.
 */
final class MariaDbRequests implements RequestReader {

  private static final int HEADER = 4;
  private static final int COM_QUERY = 3;
  private static final int KEPT_OF_A_BODY = 8192;

  private final ByteArrayOutputStream header = new ByteArrayOutputStream();
  private final ByteArrayOutputStream body = new ByteArrayOutputStream();
  private int bodyLeft;
  private int packetStart;

  @Override
  public List<Request> feed(byte[] bytes, int length) {
    List<Request> requests = new ArrayList<>();
    int at = 0;
    packetStart = 0;
    while (at < length) {
      if (header.size() == 0) {
        packetStart = at;
      }
      if (header.size() < HEADER) {
        header.write(bytes[at++]);
        bodyLeft = lengthInHeader();
      } else {
        int take = Math.min(bodyLeft, length - at);
        body.write(bytes, at, Math.max(0, Math.min(take, KEPT_OF_A_BODY - body.size())));
        at += take;
        bodyLeft -= take;
      }
      if (header.size() == HEADER && bodyLeft == 0) {
        endOfPacket(requests);
      }
    }
    return requests;
  }

  private int lengthInHeader() {
    byte[] bytes = header.toByteArray();
    return bytes.length < HEADER
        ? 0
        : (bytes[0] & 0xff) | (bytes[1] & 0xff) << 8 | (bytes[2] & 0xff) << 16;
  }

  /** Only the first packet of a command has the number 0; a login and later parts have others. */
  private void endOfPacket(List<Request> requests) {
    byte[] content = body.toByteArray();
    if (header.toByteArray()[3] == 0 && content.length > 0 && content[0] == COM_QUERY) {
      requests.add(
          new Request(
              packetStart, new String(content, 1, content.length - 1, StandardCharsets.UTF_8)));
    }
    header.reset();
    body.reset();
  }
}
