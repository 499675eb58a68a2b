package dev.pigeonhole.support;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The frontend side of the PostgreSQL protocol, as far as it names statements.
 *
 * <p>Looking for the bytes {@code COMMIT} would not do: the driver sends the text once, in a Parse
 * with a name, and from then on only a Bind to that name. So we remember the names. In the extended
 * protocol a statement is executed by the Execute frame, and not only when the Sync arrives.
 */
final class PostgresRequests implements RequestReader {

  private static final int SSL_REQUEST = 80877103;
  private static final int GSS_REQUEST = 80877104;
  private static final int KEPT_OF_A_BODY = 8192;

  private final Map<String, String> sqlByStatement = new HashMap<>();
  private final Map<String, String> sqlByPortal = new HashMap<>();
  private final ByteArrayOutputStream header = new ByteArrayOutputStream();
  private final ByteArrayOutputStream body = new ByteArrayOutputStream();
  private boolean startup = true;
  private int bodyLeft;
  private int frameStart;

  @Override
  public List<Request> feed(byte[] bytes, int length) {
    List<Request> requests = new ArrayList<>();
    int at = 0;
    frameStart = 0;
    while (at < length) {
      if (header.size() == 0) {
        frameStart = at;
      }
      if (header.size() < headerLength()) {
        header.write(bytes[at++]);
        if (header.size() == headerLength()) {
          bodyLeft = lengthInHeader() - 4;
        }
      } else {
        int take = Math.min(bodyLeft, length - at);
        body.write(bytes, at, Math.max(0, Math.min(take, KEPT_OF_A_BODY - body.size())));
        at += take;
        bodyLeft -= take;
      }
      if (header.size() == headerLength() && bodyLeft == 0) {
        endOfFrame(requests);
      }
    }
    return requests;
  }

  /** The very first frames have no type. */
  private int headerLength() {
    return startup ? 4 : 5;
  }

  private int lengthInHeader() {
    return ByteBuffer.wrap(header.toByteArray()).getInt(startup ? 0 : 1);
  }

  private void endOfFrame(List<Request> requests) {
    ByteBuffer content = ByteBuffer.wrap(body.toByteArray());
    if (startup) {
      int code = content.getInt();
      startup = code == SSL_REQUEST || code == GSS_REQUEST;
    } else {
      switch (header.toByteArray()[0]) {
        case 'Q' -> requests.add(new Request(frameStart, text(content)));
        case 'P' -> sqlByStatement.put(text(content), text(content));
        case 'B' -> sqlByPortal.put(text(content), sqlByStatement.getOrDefault(text(content), ""));
        case 'E' ->
            requests.add(new Request(frameStart, sqlByPortal.getOrDefault(text(content), "")));
        default -> {
          // Nothing that executes a statement.
        }
      }
    }
    header.reset();
    body.reset();
  }

  /** A string up to its zero, or as much of it as we kept. */
  private static String text(ByteBuffer content) {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    while (content.hasRemaining()) {
      byte next = content.get();
      if (next == 0) {
        break;
      }
      text.write(next);
    }
    return text.toString(StandardCharsets.UTF_8);
  }
}
