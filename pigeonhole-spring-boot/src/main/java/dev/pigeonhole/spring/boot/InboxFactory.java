package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.spring.SpringInboxes;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Channel;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Transport;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.MessageSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;

/** Builds the inbox of the application from its handlers, its channels and its properties. */
final class InboxFactory {
  private static final Logger LOG = LoggerFactory.getLogger(InboxFactory.class);
  private static final int DEFAULT_CONCURRENCY = 8;

  private final SpringInboxes inboxes;
  private final InboxStore store;
  private final ChosenBeans chosen;
  private final PigeonholeProperties properties;
  private final ListableBeanFactory beans;

  InboxFactory(
      SpringInboxes inboxes,
      InboxStore store,
      ChosenBeans chosen,
      PigeonholeProperties properties,
      ListableBeanFactory beans) {
    this.inboxes = inboxes;
    this.store = store;
    this.chosen = chosen;
    this.properties = properties;
    this.beans = beans;
  }

  Inbox build(
      List<ChannelSource> transports,
      List<dev.pigeonhole.Channel> channels,
      Consumer<InboxBuilder> more) {
    List<String> finished = channels.stream().map(dev.pigeonhole.Channel::name).toList();
    refuseWhatComesTooLate(finished);
    handlers();
    channels(finished);
    Map<String, MessageSource> sources = sources(transports);
    sources.forEach(
        (channel, source) -> {
          if (!finished.contains(channel)) {
            inboxes.source(channel, source);
          }
        });
    InboxBuilder builder =
        store instanceof JdbcStore jdbc
            ? inboxes.on(jdbc, chosen.transactionManager())
            : inboxes.withoutTransactions(store);
    for (dev.pigeonhole.Channel each : channels) {
      MessageSource source = sources.get(each.name());
      builder.channel(each, source == null ? new MessageSource[0] : new MessageSource[] {source});
    }
    Builders.apply(properties.inbox(), builder);
    builder.concurrency(concurrency());
    more.accept(builder);
    return builder.build();
  }

  /** A channel that is built has decided; only sources can still be given to it. */
  private void refuseWhatComesTooLate(List<String> finished) {
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

  private void handlers() {
    if (properties.inbox().handlerTimeout() != null) {
      inboxes.optionsOfAll(HandlerOption.within(properties.inbox().handlerTimeout()));
    }
    properties
        .handlers()
        .forEach(
            (key, handler) -> inboxes.options(key, Builders.options(handler, properties.inbox())));
  }

  private void channels(List<String> finished) {
    Map<String, ChannelBuilder> declared = new LinkedHashMap<>();
    beans
        .getBeansOfType(ChannelBuilder.class)
        .values()
        .forEach(each -> declared.put(each.name(), each));
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
          ChannelBuilder made = Builders.channel(name, properties.inbox());
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
                    : "spring-boot-starter-amqp (from Spring Boot 4.2 on: spring-boot-starter-rabbitmq)"));
  }

  /** So many that a pool of the usual size is enough, unless somebody says how many. */
  private int concurrency() {
    Integer said = properties.inbox().concurrency();
    if (said != null) {
      return said;
    }
    int handlers = inboxes.transactionalHandlers().size();
    int slots = connections() - engineConnections();
    int fit = Math.max(1, Math.min(DEFAULT_CONCURRENCY, slots / Math.max(1, handlers)));
    if (handlers > 0 && fit < DEFAULT_CONCURRENCY) {
      LOG.info(
          "Handlers run {} at once, because the connection pool has no room for {} of each."
              + " Enlarge it, or set pigeonhole.inbox.concurrency.",
          fit,
          DEFAULT_CONCURRENCY);
      return fit;
    }
    return DEFAULT_CONCURRENCY;
  }

  private int connections() {
    return store instanceof JdbcStore jdbc
        ? PoolSize.of(jdbc.dataSource()).orElse(Integer.MAX_VALUE)
        : Integer.MAX_VALUE;
  }

  /** To accept, read, settle and beat, and to listen. */
  private int engineConnections() {
    return properties.inbox().notifying() ? 5 : 4;
  }
}
