package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.spring.GuardTemplate;
import dev.pigeonhole.spring.SpringInboxes;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Channel;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Mode;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Transport;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.MessageSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;

/**
 * Builds the inboxes of the application from its handlers, its channels and its properties. What
 * concerns all of them is done once, before the first.
 */
final class InboxFactory {
  private static final Logger LOG = LoggerFactory.getLogger(InboxFactory.class);
  private static final int DEFAULT_CONCURRENCY = 8;

  private final SpringInboxes inboxes;
  private final ChosenBeans chosen;
  private final PigeonholeProperties properties;
  private final ListableBeanFactory beans;
  private final HandlerThreads threads;
  private final List<PlannedInbox> planned;
  private @Nullable Prepared prepared;

  InboxFactory(
      SpringInboxes inboxes,
      ChosenBeans chosen,
      PigeonholeProperties properties,
      HandlerThreads threads,
      ListableBeanFactory beans) {
    this.inboxes = inboxes;
    this.chosen = chosen;
    this.properties = properties;
    this.threads = threads;
    this.beans = beans;
    this.planned = properties.planned();
  }

  /**
   * What all inboxes are built from.
   *
   * @param channels those that are built already, by name
   * @param sources of every channel that has a transport
   */
  private record Prepared(
      Map<String, dev.pigeonhole.Channel> channels, Map<String, MessageSource> sources) {}

  PlannedInbox planned(String name) {
    return planned.stream().filter(each -> each.name().equals(name)).findFirst().orElseThrow();
  }

  JdbcStore store(String name) {
    // Its tables come first; of a bean that is not declared by an annotation nobody else says so.
    beans.getBean(PigeonholeSchemaInitializer.class);
    PlannedInbox inbox = planned(name);
    return inbox.store(chosen.dataSource(inbox));
  }

  GuardTemplate guard(String name, JdbcStore store) {
    return Guards.on(planned(name), store, chosen, properties, beans);
  }

  Inbox build(String name, InboxStore store) {
    Prepared common = prepared == null ? prepare() : prepared;
    prepared = common;
    PlannedInbox inbox = planned(name);
    Set<String> channels = channelsOf(inbox, common.channels().keySet());
    if (inbox.options().handlerTimeout() != null) {
      inboxes.optionsOfAll(HandlerOption.within(inbox.options().handlerTimeout()));
    } else {
      inboxes.optionsOfAll();
    }
    Set<String> ours = new TreeSet<>(channels);
    ours.retainAll(inboxes.channels());
    InboxBuilder builder =
        store instanceof JdbcStore jdbc
            ? inboxes.on(jdbc, chosen.transactionManager(inbox), ours)
            : inboxes.withoutTransactions(store);
    for (dev.pigeonhole.Channel each : common.channels().values()) {
      if (channels.contains(each.name())) {
        MessageSource source = common.sources().get(each.name());
        builder.channel(each, source == null ? new MessageSource[0] : new MessageSource[] {source});
      }
    }
    Builders.apply(inbox.options(), builder);
    builder.concurrency(concurrency(inbox, store));
    threads.executor().ifPresent(builder::executor);
    beans.getBeanProvider(PayloadCodec.class).ifUnique(builder::codec);
    beans
        .getBeanProvider(InboxCustomizer.class)
        .orderedStream()
        .filter(each -> each.isFor(name))
        .forEach(each -> each.customize(builder));
    return builder.build();
  }

  private Prepared prepare() {
    Map<String, dev.pigeonhole.Channel> finished = new LinkedHashMap<>();
    beans
        .getBeanProvider(dev.pigeonhole.Channel.class)
        .orderedStream()
        .forEach(each -> finished.put(each.name(), each));
    refuseWhatComesTooLate(finished.keySet());
    channels(finished.keySet());
    handlers();
    Map<String, MessageSource> sources =
        sources(beans.getBeanProvider(ChannelSource.class).orderedStream().toList());
    sources.forEach(
        (channel, source) -> {
          if (!finished.containsKey(channel)) {
            inboxes.source(channel, source);
          }
        });
    return new Prepared(finished, sources);
  }

  /** Those that it names, or what no other names. */
  private Set<String> channelsOf(PlannedInbox inbox, Set<String> finished) {
    Set<String> all = new TreeSet<>(inboxes.channels());
    all.addAll(finished);
    List<String> named = inbox.channels();
    if (named == null) {
      Set<String> left = new TreeSet<>(all);
      planned.stream()
          .map(PlannedInbox::channels)
          .filter(Objects::nonNull)
          .forEach(left::removeAll);
      refuseNothing(inbox, left);
      return left;
    }
    List<Problem> problems = new ArrayList<>();
    for (String each : named) {
      if (!all.contains(each)) {
        problems.add(
            new Problem(
                ErrorCode.CHANNEL_UNKNOWN,
                "%s.channels: there is no channel '%s'. Known are: %s. Correct the name."
                    .formatted(
                        inbox.property(), each, all.isEmpty() ? "none" : String.join(", ", all))));
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    refuseNothing(inbox, new TreeSet<>(named));
    return new TreeSet<>(named);
  }

  private void refuseNothing(PlannedInbox inbox, Set<String> channels) {
    if (channels.isEmpty() && planned.size() > 1) {
      throw new ConfigurationException(
          ErrorCode.NOTHING_CONFIGURED,
          "%s has no channel: others take all of them, or there are none. Remove it, or name some."
              .formatted(inbox.property()));
    }
  }

  private PlannedInbox inboxOf(String channel) {
    PlannedInbox rest = planned.get(0);
    for (PlannedInbox each : planned) {
      if (each.channels() == null) {
        rest = each;
      } else if (each.channels().contains(channel)) {
        return each;
      }
    }
    return rest;
  }

  /** A channel that is built has decided; only sources can still be given to it. */
  private void refuseWhatComesTooLate(Set<String> finished) {
    List<Problem> problems = new ArrayList<>();
    for (String name : finished) {
      Channel said = properties.channels().get(name);
      if (said != null
          && (said.mode() != null
              || said.missingId() != null
              || said.onConflict() != null
              || said.unhandled() != null)) {
        problems.add(
            new Problem(
                ErrorCode.OPTION_NOT_APPLICABLE,
                ("pigeonhole.channels.%s: its mode, missing-id, on-conflict and unhandled are"
                        + " decided by the bean of Channel. Remove them, or declare the bean as a"
                        + " ChannelBuilder.")
                    .formatted(name)));
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
  }

  /** Inline is said once and for all, so a property cannot take it back. */
  private void refuseStoredWhereCodeSaysInline(Map<String, ChannelBuilder> declared) {
    List<Problem> problems = new ArrayList<>();
    properties
        .channels()
        .forEach(
            (name, channel) -> {
              if (channel.mode() != Mode.STORED) {
                return;
              }
              ChannelBuilder bean = declared.get(name);
              if (bean != null && bean.hasInlineHandlers()) {
                problems.add(
                    notStored(name, "its bean of ChannelBuilder or a handler there is inline"));
              }
              for (String key : inboxes.inlineHandlers(name)) {
                problems.add(notStored(name, "the handler '%s' says inline = true".formatted(key)));
              }
            });
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
  }

  private static Problem notStored(String channel, String because) {
    return new Problem(
        ErrorCode.OPTION_NOT_APPLICABLE,
        ("pigeonhole.channels.%s.mode is stored, and %s. Remove one of the two.")
            .formatted(channel, because));
  }

  private void handlers() {
    PropertyChecks.checkRetries(properties.handlers(), key -> optionsOfInbox(key).retry());
    properties
        .handlers()
        .forEach(
            (key, handler) -> inboxes.options(key, Builders.options(handler, optionsOfInbox(key))));
  }

  private PigeonholeProperties.Inbox optionsOfInbox(String key) {
    return inboxOf(inboxes.channelOf(key).orElse("")).options();
  }

  private void channels(Set<String> finished) {
    Map<String, ChannelBuilder> declared = new LinkedHashMap<>();
    beans
        .getBeansOfType(ChannelBuilder.class)
        .values()
        .forEach(each -> declared.put(each.name(), each));
    refuseStoredWhereCodeSaysInline(declared);
    properties
        .channels()
        .forEach(
            (name, channel) -> {
              ChannelBuilder bean = declared.get(name);
              if (bean != null) {
                Builders.apply(channel, bean);
              }
            });
    inboxes.otherChannels(
        name -> {
          ChannelBuilder made = Builders.channel(name, inboxOf(name).options());
          Channel said = properties.channels().get(name);
          if (said != null) {
            Builders.apply(said, made);
          }
          return made;
        });
    // A channel that is only in the properties is a name that was misspelt.
    properties.channels().keySet().stream()
        .filter(name -> !finished.contains(name))
        .forEach(name -> inboxes.source(name));
  }

  private Map<String, MessageSource> sources(List<ChannelSource> transports) {
    Map<String, MessageSource> sources = new LinkedHashMap<>();
    if (!properties.inbox().sources()) {
      return sources;
    }
    List<Problem> problems = new ArrayList<>();
    properties
        .channels()
        .forEach(
            (name, channel) -> {
              Transport transport = channel.transport();
              if (transport == null) {
                return;
              }
              try {
                sources.put(name, source(transports, transport).of(name, channel));
              } catch (ConfigurationException e) {
                for (Problem each : e.problems()) {
                  problems.add(
                      new Problem(each.code(), "Channel '%s': %s".formatted(name, each.text())));
                }
              }
            });
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    return sources;
  }

  private static ChannelSource source(List<ChannelSource> transports, Transport wanted) {
    for (ChannelSource each : transports) {
      if (each.transport() == wanted) {
        return each;
      }
    }
    String name = wanted.name().toLowerCase(Locale.ROOT);
    throw new ConfigurationException(
        ErrorCode.TRANSPORT_MISSING,
        "its transport is %s, whose libraries are not there. Add pigeonhole-%s and %s."
            .formatted(
                name,
                name,
                wanted == Transport.KAFKA
                    ? "spring-boot-starter-kafka"
                    : "spring-boot-starter-amqp (from Spring Boot 4.2 on:"
                        + " spring-boot-starter-rabbitmq)"));
  }

  /** So many that a pool of the usual size is enough, unless somebody says how many. */
  private int concurrency(PlannedInbox inbox, InboxStore store) {
    Integer said = inbox.options().concurrency();
    if (said != null) {
      return said;
    }
    List<PlannedInbox> sharing = sharingWith(inbox);
    long handlers =
        inboxes.transactionalHandlers().stream()
            .filter(each -> sharing.contains(inboxOf(inboxes.channelOf(each).orElse(""))))
            .count();
    // To accept, read, settle and beat, and to listen. Callers publish on their own connection.
    int engines =
        sharing.stream().mapToInt(each -> each.options().notifying() ? 5 : 4).sum()
            + (properties.outbox().enabled() ? 3 : 0);
    int slots = connections(store) - engines;
    int fit = (int) Math.max(1, Math.min(DEFAULT_CONCURRENCY, slots / Math.max(1, handlers)));
    if (handlers > 0 && fit < DEFAULT_CONCURRENCY) {
      LOG.info(
          "Handlers run {} at once, because the connection pool has no room for {} of each."
              + " Enlarge it, or set {}.concurrency.",
          fit,
          DEFAULT_CONCURRENCY,
          inbox.property());
      return fit;
    }
    return DEFAULT_CONCURRENCY;
  }

  /** By the DataSource itself: it may be named by one, and be what another takes without a name. */
  private List<PlannedInbox> sharingWith(PlannedInbox inbox) {
    if (planned.size() == 1) {
      return planned; // its store may be somebody's own
    }
    DataSource ours = chosen.dataSource(inbox);
    return planned.stream().filter(each -> chosen.dataSource(each) == ours).toList();
  }

  private static int connections(InboxStore store) {
    return store instanceof JdbcStore jdbc
        ? PoolSize.of(jdbc.dataSource()).orElse(Integer.MAX_VALUE)
        : Integer.MAX_VALUE;
  }
}
