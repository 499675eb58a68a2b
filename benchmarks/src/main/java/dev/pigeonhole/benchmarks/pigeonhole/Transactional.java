package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.TransactionalHandler;
import dev.pigeonhole.benchmarks.inbox.Completions;
import dev.pigeonhole.benchmarks.inbox.Effects;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.Connection;
import java.util.function.UnaryOperator;

/** Handlers whose writes commit with their receipts, alone or several together. */
final class Transactional {

  private Transactional() {}

  /**
   * Options: {@code shared} deliveries commit together; with {@code hot} above 0 the handler counts
   * up one of so many rows instead of inserting one.
   */
  static long effects(Run run) throws Exception {
    Messages messages = Messages.of(run);
    Completions completions = new Completions(messages, 1);
    int hot = run.number("hot", 0);
    TransactionalHandler<byte[]> handler =
        (payload, tx) -> {
          if (hot > 0) {
            Effects.countUp(tx.connection(), Messages.number(payload) % hot);
          } else {
            Effects.insert(tx.connection(), tx.delivery().message().id());
          }
          completions.handled(0, payload);
        };
    Channel channel = channel(handler, run.number("shared"));
    try (LoadedInbox loaded =
        new LoadedInbox(run, messages, completions, 1, channel, UnaryOperator.identity())) {
      loaded.start();
      run.begin();
      loaded.acceptAll();
      long completed = loaded.finishRepeatable(messages.count());
      try (Connection connection = run.connect()) {
        Effects.check(connection, messages.count(), hot);
      }
      return completed;
    }
  }

  private static Channel channel(TransactionalHandler<byte[]> handler, int shared) {
    String key = LoadedInbox.handlerKey(0);
    return shared > 1
        ? LoadedInbox.type()
            .handleInTransaction(key, handler, HandlerOption.sharedCommits(shared))
            .build()
        : LoadedInbox.type().handleInTransaction(key, handler).build();
  }
}
