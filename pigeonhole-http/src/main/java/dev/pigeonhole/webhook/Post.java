package dev.pigeonhole.webhook;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;

/**
 * One POST over a connection of its own, within a time. Java's HTTP client looks up the host
 * itself, so what it connects to is not what was checked; this one is told the address, and knows
 * the name only to greet the other side with it and to compare it with the certificate.
 *
 * <p>It reads the head of the answer and no further. For one thread.
 */
final class Post implements AutoCloseable {
  private static final Pattern STATUS = Pattern.compile("HTTP/1\\.[01] ([1-5][0-9]{2})(?: .*)?");
  private static final String RETRY_AFTER = "retry-after:";

  /** What the other side says, and for how long it wants to be left alone. */
  record Reply(int status, @Nullable String retryAfter) {
    private static final Duration LONGEST = Duration.ofHours(1);
    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");

    /** From a second to an hour; null where it says nothing that can be read. */
    @Nullable Duration retryAfter(Instant now) {
      if (retryAfter == null) {
        return null;
      }
      Duration wait;
      if (SECONDS.matcher(retryAfter).matches()) {
        wait = Duration.ofSeconds(Long.parseLong(retryAfter));
      } else {
        try {
          wait =
              Duration.between(
                  now, DateTimeFormatter.RFC_1123_DATE_TIME.parse(retryAfter, Instant::from));
        } catch (DateTimeException e) {
          return null;
        }
      }
      if (wait.compareTo(LONGEST) > 0) {
        return LONGEST;
      }
      return wait.compareTo(Duration.ofSeconds(1)) < 0 ? Duration.ofSeconds(1) : wait;
    }
  }

  private final Target target;
  private final SSLSocketFactory tls;
  private final long end;
  private final CompletableFuture<Void> inTime = new CompletableFuture<>();
  private volatile @Nullable Socket socket;

  /** Begins to count the time. */
  Post(Target target, SSLSocketFactory tls, Duration time) {
    this.target = target;
    this.tls = tls;
    this.end = System.nanoTime() + time.toNanos();
    // Closing is the only thing that ends a write, and a read in the midst of a handshake.
    var unused =
        inTime
            .orTimeout(Math.max(1, time.toNanos()), TimeUnit.NANOSECONDS)
            .whenComplete((done, late) -> closeSocket());
  }

  /**
   * @param addresses of the host, tried one after the other until one can be connected to
   * @param headers with a line for each value
   */
  Reply send(List<InetAddress> addresses, Map<String, List<String>> headers, byte[] body)
      throws IOException {
    Socket connected = connect(addresses);
    Socket talking = target.tls() ? secured(connected) : connected;
    OutputStream out = new BufferedOutputStream(talking.getOutputStream());
    try {
      out.write(head(headers, body.length).getBytes(StandardCharsets.US_ASCII));
      out.write(body);
      out.flush();
    } catch (IOException e) {
      return refusal(talking, e);
    }
    return reply(new Head(new BufferedInputStream(talking.getInputStream())));
  }

  /**
   * Who does not want the rest of a body says so and hangs up, which looks like any other failure
   * while it is written. Only a refusal is believed: nobody can have taken what was not all sent.
   */
  private static Reply refusal(Socket talking, IOException failed) throws IOException {
    try {
      Reply reply = reply(new Head(new BufferedInputStream(talking.getInputStream())));
      if (reply.status() >= 300) {
        return reply;
      }
    } catch (IOException e) {
      failed.addSuppressed(e);
    }
    throw failed;
  }

  private Socket connect(List<InetAddress> addresses) throws IOException {
    IOException failed = new IOException("no address");
    int untried = addresses.size();
    for (InetAddress address : addresses) {
      Socket next = new Socket(Proxy.NO_PROXY);
      socket = next;
      long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
      if (left <= 0 || inTime.isDone()) { // asked after the socket can be seen by who closes it
        throw new SocketTimeoutException("no time left to connect");
      }
      try {
        // One that is silent leaves the others their part; zero would be no limit.
        int part = (int) Math.max(1, left / untried--);
        next.connect(new InetSocketAddress(address, target.port()), part);
        return next;
      } catch (IOException e) {
        next.close();
        failed = e;
      }
    }
    throw failed;
  }

  private Socket secured(Socket connected) throws IOException {
    String name = target.isName() ? target.host() : target.host().replaceAll("[\\[\\]]", "");
    SSLSocket secured = (SSLSocket) tls.createSocket(connected, name, target.port(), true);
    SSLParameters parameters = secured.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    if (target.isName()) {
      parameters.setServerNames(List.of(new SNIHostName(name)));
    }
    secured.setSSLParameters(parameters);
    secured.startHandshake();
    return secured;
  }

  private String head(Map<String, List<String>> headers, int length) {
    boolean usual = target.port() == (target.tls() ? 443 : 80);
    StringBuilder head = new StringBuilder();
    head.append("POST ").append(target.path()).append(" HTTP/1.1\r\n");
    head.append("Host: ").append(target.host()).append(usual ? "" : ":" + target.port());
    head.append("\r\n");
    headers.forEach(
        (name, values) ->
            values.forEach(value -> head.append(name).append(": ").append(value).append("\r\n")));
    head.append("Content-Length: ").append(length).append("\r\n");
    head.append("Connection: close\r\n\r\n");
    return head.toString();
  }

  private static Reply reply(Head head) throws IOException {
    while (true) {
      Matcher status = STATUS.matcher(head.line());
      if (!status.matches()) {
        throw new IOException("what came back is no HTTP");
      }
      String retryAfter = null;
      for (String line = head.line(); !line.isEmpty(); line = head.line()) {
        if (line.toLowerCase(Locale.ROOT).startsWith(RETRY_AFTER)) {
          retryAfter = line.substring(RETRY_AFTER.length()).strip();
        }
      }
      int code = Integer.parseInt(status.group(1));
      if (code >= 200) { // below, it only says that the answer is on its way
        return new Reply(code, retryAfter);
      }
    }
  }

  /** The lines before the body, and no more of them than anybody needs. */
  private static final class Head {
    private static final int LONGEST = 65_536;

    private final InputStream in;
    private int read;

    Head(InputStream in) {
      this.in = in;
    }

    String line() throws IOException {
      StringBuilder line = new StringBuilder();
      for (int c = in.read(); c != '\n'; c = in.read()) {
        if (c < 0 || read++ > LONGEST) {
          throw new IOException(c < 0 ? "the answer ends early" : "its head is endless");
        }
        line.append((char) c);
      }
      read++;
      return line.toString().strip();
    }
  }

  /** Closes the bare connection: TLS would wait to say goodbye. */
  private void closeSocket() {
    Socket open = socket;
    if (open != null) {
      try {
        open.close();
      } catch (IOException e) {
        // It is closed as far as it can be.
      }
    }
  }

  /** Ends the connection; whatever else was to come is not read. */
  @Override
  public void close() {
    inTime.complete(null);
    closeSocket();
  }
}
