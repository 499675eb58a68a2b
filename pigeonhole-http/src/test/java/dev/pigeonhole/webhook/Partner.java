package dev.pigeonhole.webhook;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The other side of outgoing requests; says what it was told to, whether or not that is HTTP. */
final class Partner implements AutoCloseable {
  private static final Pattern LENGTH = Pattern.compile("\r\nContent-Length: ([0-9]+)\r\n");

  /** Talks to one connection after its request was read. */
  @FunctionalInterface
  interface Answer {
    void write(OutputStream out) throws IOException;
  }

  final List<String> requests = new CopyOnWriteArrayList<>();
  private final ServerSocket listening;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final boolean patient;

  private Partner(ServerSocket listening, Answer answer, boolean patient) {
    this.listening = listening;
    this.patient = patient;
    threads.execute(() -> listen(answer));
  }

  static Partner answering(String text) throws IOException {
    return answering(out -> out.write(text.getBytes(ISO_8859_1)));
  }

  static Partner answering(Answer answer) throws IOException {
    return on(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), answer);
  }

  static Partner on(ServerSocket listening, Answer answer) {
    return new Partner(listening, answer, true);
  }

  /** Answers after the head of a request, and hangs up without having read its body. */
  static Partner impatient(ServerSocket listening, Answer answer) {
    return new Partner(listening, answer, false);
  }

  int port() {
    return listening.getLocalPort();
  }

  private void listen(Answer answer) {
    try {
      while (true) {
        Socket socket = listening.accept();
        threads.execute(() -> talk(socket, answer));
      }
    } catch (IOException e) {
      // closed
    }
  }

  private void talk(Socket socket, Answer answer) {
    try (socket) {
      requests.add(read(socket.getInputStream()));
      answer.write(socket.getOutputStream());
      socket.getOutputStream().flush();
    } catch (IOException e) {
      // The other side has hung up, as some tests want it.
    }
  }

  private String read(InputStream in) throws IOException {
    ByteArrayOutputStream head = new ByteArrayOutputStream();
    while (!head.toString(ISO_8859_1).endsWith("\r\n\r\n")) {
      int c = in.read();
      if (c < 0) {
        throw new IOException("hung up");
      }
      head.write(c);
    }
    Matcher length = LENGTH.matcher(head.toString(ISO_8859_1));
    if (patient && length.find()) {
      head.writeBytes(in.readNBytes(Integer.parseInt(length.group(1))));
    }
    return head.toString(ISO_8859_1);
  }

  @Override
  public void close() throws IOException {
    listening.close();
    threads.shutdownNow();
  }
}
