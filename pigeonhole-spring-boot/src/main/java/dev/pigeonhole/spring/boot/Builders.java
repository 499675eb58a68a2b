package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.GuardBuilder;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Channel;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Guard;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Handler;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Inbox;
import dev.pigeonhole.spring.boot.PigeonholeProperties.LeaseGuard;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Mode;
import java.util.ArrayList;
import java.util.List;

/** Gives properties to builders. */
final class Builders {
  private Builders() {}

  static void apply(Inbox from, InboxBuilder to) {
    to.named(from.name())
        .retry(from.retry().policy())
        .polling(from.polling().min(), from.polling().max())
        .batchSize(from.batchSize())
        .lanes(from.lanes())
        .beat(from.beat())
        .deadAfter(from.deadAfter())
        .restartDelay(from.restartDelay())
        .stopGrace(from.stopGrace())
        .maxPayload((int) from.maxPayloadSize().toBytes())
        .holdUnknownKeys(from.unknownKeyGrace())
        .maxCrashes(from.maxCrashes())
        .maxBacklog(from.maxBacklog())
        .maxHandlerBacklog(from.maxHandlerBacklog());
    if (from.retention().keepReceipts() != null) {
      to.keepReceipts(from.retention().keepReceipts());
    }
    if (from.retention().keepPayload() != null) {
      to.keepPayload(from.retention().keepPayload());
    }
    if (from.retention().keepPoisoned() != null) {
      to.keepPoisoned(from.retention().keepPoisoned());
    }
  }

  /** A guard on the tables of an inbox goes by its name and its lanes. */
  static void apply(Guard guard, Inbox inbox, GuardBuilder to) {
    to.named(inbox.name())
        .lanes(inbox.lanes())
        .keepReceipts(guard.keepReceipts())
        .waitAtMost(guard.waitAtMost())
        .timeLimit(guard.transactionTimeout())
        .maxAnswer((int) guard.maxAnswerSize().toBytes());
    if (guard.keepAnswers() != null) {
      to.keepAnswers(guard.keepAnswers());
    }
  }

  static dev.pigeonhole.lease.LeaseGuard apply(LeaseGuard from, GuardStore store) {
    dev.pigeonhole.lease.LeaseGuard guard =
        dev.pigeonhole.lease.LeaseGuard.on(store)
            .lease(from.lease())
            .waitAtMost(from.waitAtMost())
            .maxAnswer((int) from.maxAnswerSize().toBytes());
    return store.forgets() ? guard.keepReceipts(from.keepReceipts()) : guard;
  }

  static HandlerOption[] options(Handler from, Inbox inbox) {
    List<HandlerOption> options = new ArrayList<>();
    if (from.retry() != null) {
      options.add(HandlerOption.retrying(from.retry().or(inbox.retry()).policy()));
    }
    if (from.timeout() != null) {
      options.add(HandlerOption.within(from.timeout()));
    }
    if (from.concurrency() != null) {
      options.add(HandlerOption.atMost(from.concurrency()));
    }
    if (from.rate() != null) {
      options.add(HandlerOption.perSecond(from.rate()));
    }
    return options.toArray(HandlerOption[]::new);
  }

  /** What is said of all channels that are no beans. */
  static ChannelBuilder channel(String name, Inbox from) {
    return dev.pigeonhole.Channel.named(name)
        .onMissingId(from.missingId())
        .onConflict(from.onConflict())
        .unhandled(from.unhandled());
  }

  /** What is said of this channel. */
  static void apply(Channel from, ChannelBuilder to) {
    if (from.mode() == Mode.INLINE) {
      to.inline();
    }
    if (from.missingId() != null) {
      to.onMissingId(from.missingId());
    }
    if (from.onConflict() != null) {
      to.onConflict(from.onConflict());
    }
    if (from.unhandled() != null) {
      to.unhandled(from.unhandled());
    }
  }
}
