package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.jspecify.annotations.Nullable;

/**
 * A real Kafka of one node, broker and controller at once, in a JVM of its own, that can be
 * crashed, paused and brought back with its log. The module {@code kafka-broker} tells Maven which
 * jars that JVM needs; none of them is on the class path of a test.
 */
public final class KafkaServer extends LocalServer {

  private static final Duration LIMIT = Duration.ofMinutes(3);

  /** The question whether a server has started is asked again and again. */
  private static final Duration START_QUESTION = Duration.ofSeconds(30);

  private static @Nullable KafkaServer shared;

  /** The files that {@code StorageTool} writes. */
  private static final String IDENTITY = "meta.properties";

  private static final String FIRST_METADATA = "bootstrap.checkpoint";

  private static final String ARCHIVE = "kafka.jsa";

  private final String libraries;
  private final @Nullable Path template; // null for the server that makes it
  private final @Nullable FaultProxy proxy;
  private final boolean createsTopics;

  private KafkaServer(
      String libraries,
      @Nullable Path template,
      @Nullable FaultProxy proxy,
      boolean createsTopics) {
    // What it has promised is in files, and they outlive the process.
    super("kafka", Signal.KILL);
    this.libraries = libraries;
    this.template = template;
    this.proxy = proxy;
    this.createsTopics = createsTopics;
  }

  /** The one server of this JVM, started at the first call; closing it has no effect. */
  public static synchronized KafkaServer shared() {
    if (shared == null) {
      shared = start();
      shared.keep();
    }
    return shared;
  }

  /** A server for tests that crash or pause it. */
  public static KafkaServer start() {
    return launched(null, false);
  }

  /**
   * A server with a second door behind a proxy. Kafka tells its clients where to connect to, so it
   * has to know the proxy, and the proxy is there first: {@code FaultProxy.to("127.0.0.1",
   * Ports.free())}. Who begins at the port of the proxy stays behind it; {@link #bootstrap()} leads
   * past it.
   */
  public static KafkaServer start(FaultProxy proxy) {
    return launched(proxy, false);
  }

  /** A server that creates whatever topic a client names, as all do that are not told otherwise. */
  public static KafkaServer startCreatingTopics() {
    return launched(null, true);
  }

  private static KafkaServer launched(@Nullable FaultProxy proxy, boolean createsTopics) {
    String libraries = libraries();
    KafkaServer server = new KafkaServer(libraries, template(libraries), proxy, createsTopics);
    server.initialiseAndLaunch();
    return server;
  }

  /**
   * A formatted data directory and an archive of the classes that a server loads, made once per
   * checkout by a server that no test uses. Formatting takes half the processor time of a start,
   * and the archive halves a start. Another JVM and other libraries have a template of their own.
   */
  private static Path template(String libraries) {
    String key = System.getProperty("java.vm.version") + libraries;
    return Binaries.cached(
        "kafka-" + UUID.nameUUIDFromBytes(key.getBytes(StandardCharsets.UTF_8)),
        directory -> {
          try (KafkaServer first = new KafkaServer(libraries, null, null, false)) {
            first.initialiseAndLaunch();
            first.stop();
            Files.copy(first.data().resolve(IDENTITY), directory.resolve(IDENTITY));
            Files.copy(first.data().resolve(FIRST_METADATA), directory.resolve(FIRST_METADATA));
            if (Files.exists(first.home().resolve(ARCHIVE))) {
              Files.move(first.home().resolve(ARCHIVE), directory.resolve(ARCHIVE));
            }
          }
        });
  }

  /** Maven writes the list when it builds the module {@code kafka-broker}. */
  private static String libraries() {
    Path servers = Scratch.cache();
    try {
      return Files.readString(servers.resolve("kafka.classpath")).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(
          "Nobody has said which jars Kafka needs; let Maven do so:"
              + " mvn -pl kafka-broker generate-resources -Dpigeonhole.servers="
              + servers.toAbsolutePath(),
          e);
    }
  }

  /** The address that a client begins with. */
  public String bootstrap() {
    return "127.0.0.1:" + port();
  }

  /** Creates a topic, and returns when each of its partitions can be written to. */
  public void createTopic(String name, int partitions) {
    createTopic(name, partitions, Map.of());
  }

  /** The same with settings of the topic. */
  public void createTopic(String name, int partitions, Map<String, String> settings) {
    NewTopic topic = new NewTopic(name, partitions, (short) 1).configs(settings);
    try (Admin admin = admin(LIMIT)) {
      Eventually.until("a broker for " + name, LIMIT, () -> isCreated(admin, topic));
      Eventually.until(
          "the partitions of " + name,
          LIMIT,
          () -> {
            TopicDescription found =
                admin.describeTopics(List.of(name)).allTopicNames().get().get(name);
            return found != null
                && found.partitions().size() == partitions
                && found.partitions().stream().allMatch(it -> it.leader() != null);
          });
    }
  }

  /**
   * A broker that the machine has kept from its heartbeats for three seconds is fenced until the
   * next one, and nothing can be created on it meanwhile. Everything else fails at once.
   */
  private static boolean isCreated(Admin admin, NewTopic topic) {
    try {
      answer(admin.createTopics(List.of(topic)).all());
      return true;
    } catch (IllegalStateException e) {
      if (e.getCause() instanceof ExecutionException failed
          && failed.getCause() instanceof InvalidReplicationFactorException) {
        return false;
      }
      throw new AssertionError("Cannot create " + topic.name() + ": " + e.getMessage(), e);
    }
  }

  /** Stops it as an administrator would. */
  public void stop() {
    stop(Signal.TERM);
  }

  private Admin admin(Duration limit) {
    int millis = (int) limit.toMillis();
    return Admin.create(
        Map.of(
            AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG,
            bootstrap(),
            AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG,
            millis,
            AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
            millis));
  }

  private static <T> T answer(KafkaFuture<T> future) {
    try {
      return future.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new IllegalStateException("Kafka refuses: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while waiting for Kafka", e);
    }
  }

  @Override
  String title() {
    return "Kafka";
  }

  /** Gives the directory the identity without which a server refuses to use it. */
  @Override
  void initialise() {
    if (template == null) {
      format();
      return;
    }
    try {
      Files.createDirectory(data());
      Files.copy(template.resolve(FIRST_METADATA), data().resolve(FIRST_METADATA));
      // Servers of the same cluster would accept each other's requests if a port is used again.
      String identity = Files.readString(template.resolve(IDENTITY));
      Files.writeString(
          data().resolve(IDENTITY),
          identity.replaceFirst("(?m)^cluster[.]id=.*$", "cluster.id=" + Uuid.randomUuid()));
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write to " + data(), e);
    }
  }

  private void format() {
    configure(Ports.free());
    runToEnd(
        java(
            List.of(),
            "kafka.tools.StorageTool",
            "format",
            "--cluster-id",
            Uuid.randomUuid().toString(),
            "--config",
            configuration().toString()));
  }

  @Override
  List<String> command() {
    configure(port());
    return java(archiveOptions(), "kafka.Kafka", configuration().toString());
  }

  /** A JVM that cannot make or read an archive starts without one. */
  private List<String> archiveOptions() {
    if (template == null) {
      return List.of(
          "-XX:+IgnoreUnrecognizedVMOptions",
          "-XX:ArchiveClassesAtExit=" + home().resolve(ARCHIVE),
          "-Xlog:cds=off");
    }
    Path archive = template.resolve(ARCHIVE);
    return Files.exists(archive) ? ClassArchive.reading(archive) : List.of();
  }

  private List<String> java(List<String> options, String main, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add("env");
    command.add("CLASSPATH=" + libraries);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx256m");
    command.add("-XX:+UseSerialGC");
    command.add("-XX:TieredStopAtLevel=1");
    command.add("-XX:+ExitOnOutOfMemoryError");
    command.addAll(options);
    command.add("-Djava.io.tmpdir=" + home());
    command.add("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
    command.add(main);
    command.addAll(List.of(arguments));
    return command;
  }

  private Path data() {
    return home().resolve("data");
  }

  private Path configuration() {
    return home().resolve("server.properties");
  }

  private void configure(int port) {
    int controller = Ports.free();
    String listeners = "DIRECT://127.0.0.1:" + port;
    String advertised = listeners;
    if (proxy != null) {
      listeners += ",PROXIED://127.0.0.1:" + proxy.targetPort();
      advertised += ",PROXIED://127.0.0.1:" + proxy.port();
    }
    String settings =
        """
        process.roles=broker,controller
        node.id=1
        controller.quorum.voters=1@127.0.0.1:%1$d
        controller.listener.names=CONTROLLER
        inter.broker.listener.name=DIRECT
        listeners=%2$s,CONTROLLER://127.0.0.1:%1$d
        advertised.listeners=%3$s
        listener.security.protocol.map=DIRECT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT
        log.dirs=%4$s

        # Everybody may do everything, until a test takes a right away.
        authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
        allow.everyone.if.no.acl.found=true

        # Unless a test is about it, those create topics who say how many partitions they want.
        auto.create.topics.enable=%5$s

        # There is one node, and it keeps its own topics small.
        offsets.topic.replication.factor=1
        offsets.topic.num.partitions=1
        transaction.state.log.replication.factor=1
        transaction.state.log.min.isr=1
        transaction.state.log.num.partitions=1
        share.coordinator.state.topic.replication.factor=1
        share.coordinator.state.topic.min.isr=1
        share.coordinator.state.topic.num.partitions=1

        # A group begins with its first member, and tests may lose patience with one early.
        group.initial.rebalance.delay.ms=0
        group.min.session.timeout.ms=500

        # After a crash it may come back only when its former life is given up.
        broker.session.timeout.ms=3000
        broker.heartbeat.interval.ms=500

        # A small machine, and many partitions.
        num.network.threads=2
        num.io.threads=2
        log.cleaner.dedupe.buffer.size=2097152
        log.index.size.max.bytes=1048576
        """
            .formatted(controller, listeners, advertised, data(), createsTopics);
    try {
      Files.writeString(configuration(), settings);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write " + configuration(), e);
    }
  }

  /** It opens the port for clients last; a question shows that it is ours. */
  @Override
  boolean answers() {
    if (!isOpen()) {
      return false;
    }
    try (Admin admin = admin(START_QUESTION)) {
      return !answer(admin.describeCluster().nodes()).isEmpty();
    }
  }

  /** Asked before a client is made, for that would complain in the log of each try. */
  private boolean isOpen() {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }
}
