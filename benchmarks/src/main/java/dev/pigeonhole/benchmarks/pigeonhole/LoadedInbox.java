package dev.pigeonhole.benchmarks.pigeonhole;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.benchmarks.inbox.Completions;
import dev.pigeonhole.benchmarks.inbox.InboxTables;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.transport.MessageSource;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** An inbox with the messages that it gets, and with what its handlers have seen of them. */
final class LoadedInbox implements AutoCloseable {

  static final int POOL = 16;
  static final int BATCH = 500;

  private static final int PRODUCERS = 2;

  final Messages messages;
  final Completions completions;
  final Inbox inbox;
  private final Run run;
  private final int handlers;
  private final HikariDataSource pool;
  private @Nullable RunningInbox running;
  private @Nullable InboxTables tables;

  LoadedInbox(
      Run run,
      Messages messages,
      Completions completions,
      int handlers,
      Channel channel,
      UnaryOperator<InboxBuilder> options,
      MessageSource... sources) {
    this.run = run;
    this.messages = messages;
    this.completions = completions;
    this.handlers = handlers;
    this.pool = run.pool(POOL);
    this.inbox = options.apply(Inbox.on(JdbcStore.of(pool)).channel(channel, sources)).build();
  }

  /** Its handlers count, and do nothing else. */
  static LoadedInbox counting(Run run, Messages messages, int handlers) {
    Completions completions = new Completions(messages, handlers);
    return new LoadedInbox(
        run,
        messages,
        completions,
        handlers,
        channel(handlers, completions::handled),
        UnaryOperator.identity());
  }

  /** One handler, which counts what comes from this source. */
  static LoadedInbox receiving(Run run, Messages messages, MessageSource source) {
    Completions completions = new Completions(messages, 1);
    return new LoadedInbox(
        run,
        messages,
        completions,
        1,
        channel(1, completions::handled),
        UnaryOperator.identity(),
        source);
  }

  /** One handler, which does this before it counts. */
  static LoadedInbox handling(Run run, Messages messages, Step first) {
    Completions completions = new Completions(messages, 1);
    Effect effect =
        (handler, payload) -> {
          first.take(payload);
          completions.handled(handler, payload);
        };
    return new LoadedInbox(
        run, messages, completions, 1, channel(1, effect), UnaryOperator.identity());
  }

  /** Something that a handler does with a message. */
  @FunctionalInterface
  interface Step {
    void take(byte[] payload) throws Exception;
  }

  /** What a handler does. */
  @FunctionalInterface
  interface Effect {
    /**
     * @param handler from 0 on
     */
    void handle(int handler, byte[] payload) throws Exception;
  }

  /** A channel whose plain handlers all do this. */
  static Channel channel(int handlers, Effect effect) {
    TypeBuilder<byte[]> type = type();
    for (int i = 0; i < handlers; i++) {
      int handler = i;
      type = type.handle(handlerKey(i), payload -> effect.handle(handler, payload));
    }
    return type.build();
  }

  /** Bytes need no codec: none is measured. */
  static TypeBuilder<byte[]> type() {
    return Channel.named(Messages.NAME).on(byte[].class).named(Messages.NAME);
  }

  static String handlerKey(int handler) {
    return "load-" + (handler + 1);
  }

  /** Begins to handle what is accepted from now on; all lanes are taken when this returns. */
  void start() throws SQLException {
    tables = new InboxTables(run.connect());
    running = inbox.start();
  }

  /** The same with messages of this run that are there already. */
  void startOnBacklog() throws SQLException {
    tables = InboxTables.all(run.connect());
    running = inbox.start();
  }

  Message message(int number) {
    return Message.of(messages.id(number), messages.payload(number));
  }

  /** Accepts all messages in batches, by two threads. */
  void acceptAll() throws Exception {
    Load.run(messages.count(), PRODUCERS, BATCH, this::accept);
  }

  /** Accepts a batch: the messages {@code from} (inclusive) {@code to} (exclusive). */
  void accept(int from, int to) {
    List<Message> batch = new ArrayList<>(to - from);
    for (int i = from; i < to; i++) {
      batch.add(message(i));
    }
    acceptNew(batch);
  }

  void acceptNew(List<Message> batch) {
    for (Acceptance answer : inbox.accept(Messages.NAME, batch)) {
      checkNew(answer);
    }
  }

  static void checkNew(Acceptance answer) {
    if (!(answer instanceof Acceptance.Accepted)) {
      throw new IllegalStateException("Not accepted: " + answer);
    }
  }

  /** Ends the run when the last completion of all messages is durable, and checks it. */
  long finish() throws Exception {
    return finish(messages.count());
  }

  /** The same where only so many messages were accepted. */
  long finish(int accepted) throws Exception {
    long completed = finishRepeatable(accepted);
    if (completions.doubled() > 0) {
      throw new IllegalStateException(completions.doubled() + " calls of handlers too many");
    }
    return completed;
  }

  /** The same for handlers whose code may run more than once, and whose effects may not. */
  long finishRepeatable(int accepted) throws Exception {
    awaitCompleted(accepted);
    run.end();
    return Objects.requireNonNull(tables).checkCompleted(accepted, handlers);
  }

  /** Returns when the last completion of so many messages is durable. */
  void awaitCompleted(int accepted) throws Exception {
    completions.await((long) accepted * handlers);
    Objects.requireNonNull(tables, "not started").awaitReceipts((long) accepted * handlers);
  }

  @Override
  public void close() throws SQLException {
    try (pool) {
      if (running != null) {
        running.close();
      }
      if (tables != null) {
        tables.close();
      }
    }
  }
}
