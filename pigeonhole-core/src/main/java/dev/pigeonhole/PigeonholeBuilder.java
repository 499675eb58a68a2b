package dev.pigeonhole;

import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.internal.dispatch.DirectChannels;
import dev.pigeonhole.internal.lifecycle.DefaultInbox;
import dev.pigeonhole.internal.lifecycle.DirectFeeds;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.internal.registry.Rules;
import dev.pigeonhole.transport.MessageSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Describes an application of several inboxes and direct channels. */
public final class PigeonholeBuilder {
  private static final Logger LOG = LoggerFactory.getLogger(PigeonholeBuilder.class);

  private final List<Inbox> inboxes;
  private final List<ChannelSpec> direct = new ArrayList<>();
  private DirectFeeds feeds = DirectFeeds.none();
  private final List<InboxListener> listeners = new ArrayList<>();
  private Requirement requirement = Requirement.NONE;
  private @Nullable PayloadCodec codec;

  PigeonholeBuilder(List<Inbox> inboxes) {
    this.inboxes = inboxes;
  }

  /**
   * Adds a channel whose handlers run on the publisher's thread, without storage, retry or memory.
   * It must say so itself, with {@link ChannelBuilder#direct()}.
   *
   * @param sources where its messages come from besides {@link Pigeonhole#publish}. What a handler
   *     fails on, its source brings again, and then all handlers run again: there is no memory
   */
  public PigeonholeBuilder direct(Channel channel, MessageSource... sources) {
    direct.add(channel.spec());
    for (MessageSource source : sources) {
      feeds = feeds.with(channel.spec(), source);
    }
    return this;
  }

  /** Whether direct channels are welcome. Default {@link Requirement#NONE}: they are. */
  public PigeonholeBuilder requireInbox(Requirement requirement) {
    this.requirement = requirement;
    return this;
  }

  /**
   * How direct handlers get copies of payloads that can be changed. Default: the codec that the
   * class path offers. Payloads that nobody can change, such as records of numbers and text, need
   * none: all handlers see the same one.
   */
  public PigeonholeBuilder codec(PayloadCodec codec) {
    this.codec = codec;
    return this;
  }

  /** Is told what direct channels do; inboxes have listeners of their own. */
  public PigeonholeBuilder listener(InboxListener listener) {
    listeners.add(listener);
    return this;
  }

  /**
   * Checks everything over all inboxes and direct channels.
   *
   * @throws ConfigurationException with every problem together
   */
  public Pigeonhole build() {
    List<Problem> problems = new ArrayList<>();
    List<DefaultInbox> known = known(problems);
    Rules rules = new Rules();
    for (DefaultInbox inbox : known) {
      rules.check(inbox.name(), inbox.channels(), true); // each knows its own store already
    }
    rules.check(DirectChannels.NAME, direct, false);
    problems.addAll(rules.problems());
    Payloads payloads = Payloads.using(codec).sharing();
    for (ChannelSpec channel : direct) {
      DirectChannels.check(channel, payloads, problems);
      require(channel, problems);
    }
    if (inboxes.isEmpty() && direct.isEmpty()) {
      problems.add(
          new Problem(
              ErrorCode.NOTHING_CONFIGURED,
              "The application has neither an inbox nor a direct channel. Add one."));
    }
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    Rules.warnings(direct).forEach(LOG::warn);
    if (!direct.isEmpty()) {
      LOG.info("{}", unsafe());
    }
    return new Pigeonhole(known, new DirectChannels(direct, payloads, listeners), feeds);
  }

  /** What inboxes say of themselves when they start; these have none. */
  private String unsafe() {
    StringBuilder text =
        new StringBuilder("Direct channels keep nothing, and do not try again by themselves:");
    for (ChannelSpec channel : direct) {
      text.append("\n  ").append(channel.name());
      if (channel.withoutInbox()) {
        text.append(": withoutInbox()");
      }
    }
    return text.toString();
  }

  private List<DefaultInbox> known(List<Problem> problems) {
    List<DefaultInbox> known = new ArrayList<>();
    Set<String> names = new HashSet<>();
    if (!direct.isEmpty()) {
      names.add(DirectChannels.NAME);
    }
    for (Inbox inbox : inboxes) {
      if (!(inbox instanceof DefaultInbox mine)) {
        problems.add(
            new Problem(
                ErrorCode.OPTION_NOT_APPLICABLE,
                "The inbox '%s' is a %s. Give one that Inbox.on(…) has built."
                    .formatted(inbox.name(), inbox.getClass().getName())));
      } else if (!names.add(mine.name())) {
        problems.add(
            new Problem(
                ErrorCode.INBOX_TAKEN,
                ("Two inboxes of the application are called '%s', so their events, threads and"
                        + " meters could not be told apart. Name them with .named(\"…\"); '%s' is"
                        + " kept for direct channels.")
                    .formatted(mine.name(), DirectChannels.NAME)));
      } else {
        known.add(mine);
      }
    }
    return known;
  }

  /** The opt-out passes this check by, and no other. */
  private void require(ChannelSpec channel, List<Problem> problems) {
    if (requirement == Requirement.NONE || channel.withoutInbox()) {
      return;
    }
    String text =
        ("Channel '%s' has no inbox: what it misses in a crash is lost. Give it to an inbox, or say"
                + " .withoutInbox() if that is meant.")
            .formatted(channel.name());
    if (requirement == Requirement.FAIL) {
      problems.add(new Problem(ErrorCode.INBOX_REQUIRED, text));
    } else {
      LOG.warn("{}: {}", ErrorCode.INBOX_REQUIRED.text(), text);
    }
  }
}
