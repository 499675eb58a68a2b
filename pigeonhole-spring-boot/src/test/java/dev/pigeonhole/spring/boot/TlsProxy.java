package dev.pigeonhole.spring.boot;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** TLS before a server that knows none, with a certificate that was made for this. */
final class TlsProxy implements AutoCloseable {
  static final String PASSWORD = "changeit";

  private final int target;
  private final ServerSocket server;
  private final Path trust;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();

  private TlsProxy(int target, ServerSocket server, Path trust) {
    this.target = target;
    this.server = server;
    this.trust = trust;
  }

  /**
   * Listens at a free port.
   *
   * @param name whose certificate it shows, as in {@code ip:127.0.0.1} or {@code dns:shop.test}
   */
  static TlsProxy before(int port, String name) {
    try {
      Path home = Files.createTempDirectory("tls");
      Path keys = home.resolve("keys.p12");
      makeKeys(keys, name);
      KeyStore own = KeyStore.getInstance(keys.toFile(), PASSWORD.toCharArray());
      Path trust = home.resolve("trust.p12");
      try (OutputStream out = Files.newOutputStream(trust)) {
        KeyStore others = KeyStore.getInstance("PKCS12");
        others.load(null, null);
        others.setCertificateEntry("server", own.getCertificate("server"));
        others.store(out, PASSWORD.toCharArray());
      }
      KeyManagerFactory managers =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      managers.init(own, PASSWORD.toCharArray());
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(managers.getKeyManagers(), null, null);
      ServerSocket server =
          context
              .getServerSocketFactory()
              .createServerSocket(0, 50, InetAddress.getLoopbackAddress());
      TlsProxy proxy = new TlsProxy(port, server, trust);
      start(proxy::accept);
      return proxy;
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalStateException("Cannot offer TLS", e);
    }
  }

  private static void makeKeys(Path file, String name) throws IOException {
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "server",
                "-keyalg",
                "EC",
                "-dname",
                "CN=server",
                "-ext",
                "san=" + name,
                "-storetype",
                "PKCS12",
                "-keystore",
                file.toString(),
                "-storepass",
                PASSWORD)
            .redirectErrorStream(true)
            .start();
    String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    try {
      if (keytool.waitFor() != 0) {
        throw new IOException(said);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("Interrupted while keys were made", e);
    }
  }

  int port() {
    return server.getLocalPort();
  }

  /** A store that trusts its certificate. */
  Path trust() {
    return trust;
  }

  private void accept() {
    try {
      while (!server.isClosed()) {
        Socket client = server.accept();
        Socket plain = new Socket(InetAddress.getLoopbackAddress(), target);
        open.add(client);
        open.add(plain);
        start(() -> pump(client, plain));
        start(() -> pump(plain, client));
      }
    } catch (IOException e) {
      // It was closed.
    }
  }

  /** A client that refuses the certificate ends here. */
  private static void pump(Socket from, Socket to) {
    try (from;
        to;
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream()) {
      in.transferTo(out);
    } catch (IOException e) {
      // One of them is gone.
    }
  }

  private static void start(Runnable work) {
    Thread thread = new Thread(work, "tls");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() {
    try {
      server.close();
      for (Socket each : open) {
        each.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot end", e);
    }
  }
}
