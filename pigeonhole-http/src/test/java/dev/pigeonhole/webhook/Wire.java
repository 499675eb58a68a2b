package dev.pigeonhole.webhook;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A connection on which anything can be said, also what no HTTP client would. */
final class Wire implements AutoCloseable {
  private static final Pattern LENGTH = Pattern.compile("(?i)\r\ncontent-length: ([0-9]+)");

  private final Socket socket;

  Wire(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setSoTimeout(300_000);
  }

  Wire say(String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(ISO_8859_1));
    socket.getOutputStream().flush();
    return this;
  }

  /** The next head, without a body; empty when the other side has hung up. */
  String head() throws IOException {
    InputStream in = socket.getInputStream();
    ByteArrayOutputStream head = new ByteArrayOutputStream();
    for (int c = in.read(); c >= 0; c = in.read()) {
      head.write(c);
      if (head.toString(ISO_8859_1).endsWith("\r\n\r\n")) {
        break;
      }
    }
    return head.toString(ISO_8859_1);
  }

  /** The next answer, with as much of a body as its head says. */
  String answer() throws IOException {
    String head = head();
    Matcher length = LENGTH.matcher(head);
    int bytes = length.find() ? Integer.parseInt(length.group(1)) : 0;
    return head + new String(socket.getInputStream().readNBytes(bytes), ISO_8859_1);
  }

  /** Everything until the other side hangs up, politely or not. */
  String rest() throws IOException {
    InputStream in = socket.getInputStream();
    ByteArrayOutputStream rest = new ByteArrayOutputStream();
    try {
      for (int c = in.read(); c >= 0; c = in.read()) {
        rest.write(c);
      }
    } catch (SocketException e) {
      // It had not read everything that was said.
    }
    return rest.toString(ISO_8859_1);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  /** The answer to one request. */
  static String answer(int port, String request) throws IOException {
    try (Wire wire = new Wire(port)) {
      return wire.say(request).answer();
    }
  }

  /** The status of the answer to one request. */
  static int status(int port, String request) throws IOException {
    try (Wire wire = new Wire(port)) {
      String head = wire.say(request).head();
      return head.isEmpty() ? 0 : Integer.parseInt(head.split(" ", 3)[1]);
    }
  }
}
