package dev.pigeonhole.support;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A real RabbitMQ from Debian's package, with a name, ports and directories of its own, that can be
 * crashed, paused and brought back with what it has stored. It has no plugins and reads nothing
 * from {@code /etc}. Clients are the user {@code guest} with the password {@code guest}.
 */
public final class RabbitServer extends LocalServer {

  private static final Path PROGRAMS = Path.of("/usr/lib/rabbitmq/bin");
  private static final int ANSWER_LIMIT_MILLIS = 5_000;
  private static final byte[] PROTOCOL_HEADER = {'A', 'M', 'Q', 'P', 0, 0, 9, 1};
  private static final int METHOD_FRAME = 1;

  private static @Nullable RabbitServer shared;

  private final Epmd epmd;
  private @Nullable ErlangShell shell; // guarded by this

  private RabbitServer(Epmd epmd) {
    // What it has promised is on disk, and its children notice when it is gone.
    super("rabbit", Signal.KILL);
    this.epmd = epmd;
  }

  /** The one server of this JVM, started at the first call; closing it has no effect. */
  public static synchronized RabbitServer shared() {
    if (shared == null) {
      shared = start();
      shared.keep();
    }
    return shared;
  }

  /** A server for tests that crash it, pause it or change its settings. */
  public static RabbitServer start() {
    if (!isInstalled()) {
      throw new IllegalStateException(
          "RabbitMQ comes from Debian: apt-get install rabbitmq-server");
    }
    RabbitServer server = new RabbitServer(Epmd.shared());
    server.initialiseAndLaunch();
    return server;
  }

  /** Whether there is one to start; what then goes wrong is not for want of it. */
  public static boolean isInstalled() {
    return Files.isExecutable(PROGRAMS.resolve("rabbitmq-server"));
  }

  /** Where clients connect to, on 127.0.0.1. */
  public int amqpPort() {
    return port();
  }

  /**
   * A virtual host that nobody else knows, with all rights for {@code guest}: queues of the same
   * name in two tests do not meet.
   */
  public String newVirtualHost() {
    String name = "t-" + UUID.randomUUID().toString().substring(0, 8);
    eval(
        """
        ok = rabbit_vhost:add(<<"%1$s">>, <<"guest">>), \
        ok = rabbit_auth_backend_internal:set_permissions(\
        <<"guest">>, <<"%1$s">>, <<".*">>, <<".*">>, <<".*">>, <<"guest">>)."""
            .formatted(name));
    return name;
  }

  /** Forgets it and all that is in it. */
  public void deleteVirtualHost(String name) {
    eval("rabbit_vhost:delete(<<\"%s\">>, <<\"guest\">>), ok.".formatted(name));
  }

  /** A user who may read what these names match in this virtual host, and do nothing else. */
  public void addReader(String user, String password, String virtualHost, String names) {
    eval(
        """
        ok = rabbit_auth_backend_internal:add_user(<<"%1$s">>, <<"%2$s">>, <<"guest">>), \
        ok = rabbit_auth_backend_internal:set_permissions(\
        <<"%1$s">>, <<"%3$s">>, <<"">>, <<"">>, <<"%4$s">>, <<"guest">>)."""
            .formatted(user, password, virtualHost, names));
  }

  public void deleteUser(String user) {
    eval(
        "rabbit_auth_backend_internal:delete_user(<<\"%s\">>, <<\"guest\">>), ok.".formatted(user));
  }

  /**
   * Lets it believe that it has no memory left, so that it reads nothing from those who publish.
   */
  public void raiseAlarm() {
    memoryLimit("0.0");
  }

  public void clearAlarm() {
    memoryLimit("0.4");
  }

  private void memoryLimit(String part) {
    eval("vm_memory_monitor:set_vm_memory_high_watermark(%s), ok.".formatted(part));
  }

  /** How many messages a queue has, handed out or not; as of now, where statistics come later. */
  public long messages(String virtualHost, String queue) {
    return count(virtualHost, queue, "query_messages_total", "messages");
  }

  /** How many messages of a queue are not handed out, as of now. */
  public long ready(String virtualHost, String queue) {
    return count(virtualHost, queue, "query_messages_ready", "messages_ready");
  }

  /** How many consume a queue, as of now. */
  public long consumers(String virtualHost, String queue) {
    return count(virtualHost, queue, "query_consumer_count", "consumers");
  }

  /**
   * Asks the leader of a quorum queue, and waits for it: to a client that declares the queue
   * passively, the server answers 0 when the leader takes longer than a quarter of a second.
   */
  private long count(String virtualHost, String queue, String query, String item) {
    return Long.parseLong(
        eval(
            """
            {ok, Queue} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"%s">>, queue, <<"%s">>)), \
            case amqqueue:get_type(Queue) of \
              rabbit_quorum_queue -> \
                {ok, {_, Count}, _} = ra:leader_query(\
                  amqqueue:get_pid(Queue), fun rabbit_fifo:%s/1, 60000), Count; \
              _ -> \
                [{_, Count}] = rabbit_amqqueue:info(Queue, [%s]), Count \
            end."""
                .formatted(virtualHost, queue, query, item)));
  }

  /**
   * Returns when quorum queues that were just declared would survive a crash: RabbitMQ writes their
   * names half a second later, and has a queue without a leader if it never came to that.
   */
  public void writeQueues() {
    eval("[ok = dets:sync(Table) || Table <- dets:all()].");
  }

  /** The value of Erlang expressions inside the server. */
  public synchronized String eval(String expressions) {
    ErlangShell open = shell;
    if (open == null) {
      open = ErlangShell.of(node(), environment());
      shell = open;
    }
    return open.eval(expressions);
  }

  /** Stops it as an administrator would: clients are told, and then disconnected. */
  public void stop() {
    stop(Signal.TERM);
  }

  @Override
  String title() {
    return "RabbitMQ";
  }

  @Override
  List<String> command() {
    List<String> command = new ArrayList<>();
    command.add("env");
    environment().forEach((name, value) -> command.add(name + "=" + value));
    // Otherwise Erlang takes the port of AMQP plus 20000, which may be anybody's.
    command.add("RABBITMQ_DIST_PORT=" + Ports.free());
    // Its script then becomes the server, instead of waiting for it: what we kill has to be it.
    command.add("detached=true");
    command.add(PROGRAMS.resolve("rabbitmq-server").toString());
    return command;
  }

  private String node() {
    return home().getFileName() + "@localhost";
  }

  /** What the server and its commands have in common. */
  private Map<String, String> environment() {
    Map<String, String> variables = new LinkedHashMap<>();
    // Erlang keeps the secret that nodes and commands share here, and makes one if there is none.
    variables.put("HOME", home().toString());
    variables.put("LANG", "C.UTF-8");
    variables.put("ERL_EPMD_PORT", Integer.toString(epmd.port()));
    variables.put("ERL_CRASH_DUMP_SECONDS", "0");
    // The name is part of what is stored, so it stays when another port has to be tried.
    variables.put("RABBITMQ_NODENAME", node());
    variables.put("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1");
    variables.put("RABBITMQ_NODE_PORT", Integer.toString(port()));
    variables.put("RABBITMQ_MNESIA_BASE", home().resolve("mnesia").toString());
    variables.put("RABBITMQ_LOG_BASE", home().resolve("log").toString());
    // To standard output, and so into the log that we show when a start fails.
    variables.put("RABBITMQ_LOGS", "-");
    // None of these exists: no file in /etc may change the settings or bring plugins.
    variables.put("RABBITMQ_CONF_ENV_FILE", home().resolve("rabbitmq-env.conf").toString());
    variables.put("RABBITMQ_CONFIG_FILE", home().resolve("rabbitmq").toString());
    variables.put("RABBITMQ_CONFIG_FILES", home().resolve("conf.d/*.conf").toString());
    variables.put("RABBITMQ_ADVANCED_CONFIG_FILE", home().resolve("advanced.config").toString());
    variables.put("RABBITMQ_ENABLED_PLUGINS_FILE", home().resolve("enabled_plugins").toString());
    // One scheduler each: on a small machine more of them wait for each other.
    variables.put(
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
        "+S 1:1 -kernel inet_dist_use_interface {127,0,0,1}");
    return variables;
  }

  /** It opens the port for clients last, when all queues are there. */
  @Override
  boolean answers() {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
      socket.setSoTimeout(ANSWER_LIMIT_MILLIS);
      socket.getOutputStream().write(PROTOCOL_HEADER);
      return socket.getInputStream().read() == METHOD_FRAME;
    } catch (IOException e) {
      return false;
    }
  }
}
