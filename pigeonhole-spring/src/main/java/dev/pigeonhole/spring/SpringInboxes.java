package dev.pigeonhole.spring;

import static java.util.stream.Collectors.joining;

import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.MessageSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryAware;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Finds the methods with {@link InboxHandler} and gives them to inboxes whose transactional
 * handlers run in transactions of Spring.
 *
 * <pre>{@code
 * @Bean
 * ChannelBuilder orders() {
 *   return Channel.named("orders").onConflict(OnConflict.REJECT);
 * }
 *
 * @Bean
 * SpringInboxes inboxes() {
 *   return new SpringInboxes();
 * }
 *
 * @Bean
 * Inbox inbox(SpringInboxes inboxes, DataSource dataSource, PlatformTransactionManager manager) {
 *   return inboxes.on(JdbcStore.of(dataSource), manager).named("shop").build();
 * }
 * }</pre>
 *
 * <p>To be used while the application starts, by one thread.
 */
public final class SpringInboxes implements BeanFactoryAware, SmartInitializingSingleton {
  private final Map<String, HandlerOption[]> options = new TreeMap<>();
  private final Map<String, MessageSource[]> sources = new TreeMap<>();
  private final Map<String, ChannelBuilder> made = new TreeMap<>();
  private HandlerOption[] optionsOfAll = {};
  private @Nullable Function<String, ChannelBuilder> maker;
  private final Set<String> taken = new LinkedHashSet<>();
  private @Nullable ConfigurableListableBeanFactory beans;
  private @Nullable List<HandlerMethod> methods;

  /** Knows nothing yet; the context tells it of its beans. */
  public SpringInboxes() {}

  @Override
  public void setBeanFactory(BeanFactory beanFactory) {
    this.beans = (ConfigurableListableBeanFactory) beanFactory;
  }

  /** Options of the handler with this key besides those of its annotation; they win over them. */
  public SpringInboxes options(String key, HandlerOption... more) {
    options.merge(key, more.clone(), SpringInboxes::both);
    return this;
  }

  /** Options of every handler whose annotation and {@link #options} do not say otherwise. */
  public SpringInboxes optionsOfAll(HandlerOption... defaults) {
    optionsOfAll = defaults.clone();
    return this;
  }

  /**
   * Makes the channels that handlers name and that are no beans, each once. Without it they are
   * refused, so that a name cannot be misspelt.
   */
  public SpringInboxes otherChannels(Function<String, ChannelBuilder> each) {
    maker = each;
    return this;
  }

  /** The keys of stored handlers that hold a connection while they run, for the size of a pool. */
  public Set<String> transactionalHandlers() {
    Set<String> keys = new LinkedHashSet<>();
    methods().stream()
        .filter(each -> each.inTransaction() && !each.declared.inline())
        .forEach(each -> keys.add(each.declared.key()));
    return keys;
  }

  /** The keys of handlers on a channel whose annotation says that they are inline. */
  public Set<String> inlineHandlers(String channel) {
    Set<String> keys = new LinkedHashSet<>();
    methods().stream()
        .filter(each -> each.declared.channel().equals(channel) && each.declared.inline())
        .forEach(each -> keys.add(each.declared.key()));
    return keys;
  }

  /** The channels that are beans, and those that handlers name and that are made for them. */
  public Set<String> channels() {
    return declared().keySet();
  }

  /** The channel that a handler is on; empty if no method has this key. */
  public Optional<String> channelOf(String key) {
    return methods().stream()
        .filter(each -> each.declared.key().equals(key))
        .map(each -> each.declared.channel())
        .findFirst();
  }

  /** Where the messages of a channel come from besides {@link Inbox#accept}. */
  public SpringInboxes source(String channel, MessageSource... more) {
    sources.merge(channel, more.clone(), SpringInboxes::both);
    return this;
  }

  private static <T> T[] both(T[] some, T[] more) {
    T[] all = Arrays.copyOf(some, some.length + more.length);
    System.arraycopy(more, 0, all, some.length, more.length);
    return all;
  }

  /**
   * Starts to describe an inbox with annotated handlers.
   *
   * @param store made with the DataSource itself, not with a proxy that joins transactions
   * @param manager begins the transactions of handlers that name no other; it has to own the
   *     store's DataSource
   * @param channels which ones it takes; without any, all of them
   * @throws ConfigurationException with every problem of every method
   * @throws dev.pigeonhole.store.StoreException if the database cannot be reached
   */
  public InboxBuilder on(JdbcStore store, PlatformTransactionManager manager, String... channels) {
    return on(store, manager, orAll(channels));
  }

  /** The same with these channels, which may be none: for an inbox whose channels are built. */
  public InboxBuilder on(
      JdbcStore store, PlatformTransactionManager manager, Collection<String> channels) {
    DataSource dataSource = store.dataSource();
    SpringTransactions transactions = new SpringTransactions(dataSource, manager);
    return inbox(
        store.transactionsFrom(transactions),
        dataSource,
        ours -> ManagerChecks.of(beans(), transactions, dataSource, ours),
        channels);
  }

  /**
   * Starts to describe an inbox with annotated handlers on a store that takes part in no
   * transaction, such as that of the test kit in memory.
   *
   * @param channels which ones it takes; without any, all of them
   * @throws ConfigurationException with every problem of every method; with {@code PH-TX-07} for
   *     those that want a transaction
   */
  public InboxBuilder withoutTransactions(InboxStore store, String... channels) {
    return inbox(store, null, SpringInboxes::refuseTransactional, orAll(channels));
  }

  private Collection<String> orAll(String... channels) {
    return channels.length == 0 ? channels() : Arrays.asList(channels);
  }

  private static List<Problem> refuseTransactional(List<HandlerMethod> handlers) {
    return handlers.stream()
        .filter(HandlerMethod::inTransaction)
        .map(
            each ->
                new Problem(
                    ErrorCode.TX_UNSUPPORTED,
                    ("Handler method %s: what it writes commits with its receipt, and the store of"
                            + " this inbox takes part in no transaction. Use a JdbcStore; a test"
                            + " with @InboxTest gets one as soon as it has a DataSource, for"
                            + " example with @AutoConfigureJdbc and @AutoConfigureTestDatabase.")
                        .formatted(each.place)))
        .toList();
  }

  /**
   * @param dataSource that of the store; null where no handler can be transactional
   * @param checks what is wrong with these handlers on this store
   */
  private InboxBuilder inbox(
      InboxStore store,
      @Nullable DataSource dataSource,
      Function<List<HandlerMethod>, List<Problem>> checks,
      Collection<String> channels) {
    List<Problem> problems = new ArrayList<>(problemsOfAll());
    Map<String, ChannelBuilder> declared = declared();
    Set<String> wanted = new TreeSet<>(channels);
    for (String each : wanted) {
      if (!declared.containsKey(each)) {
        problems.add(unknownChannel("An inbox", each));
      } else if (!taken.add(each)) {
        problems.add(
            new Problem(
                ErrorCode.CHANNEL_TWICE,
                "The channel '%s' is given to two inboxes. Name the channels of each."
                    .formatted(each)));
      }
    }
    List<HandlerMethod> ours =
        methods().stream().filter(each -> wanted.contains(each.declared.channel())).toList();
    problems.addAll(checks.apply(ours));
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    ours.forEach(each -> add(each, declared.get(each.declared.channel()), dataSource));
    InboxBuilder inbox = Inbox.on(store);
    for (String each : wanted) {
      ChannelBuilder channel = declared.get(each);
      if (channel != null) {
        inbox.channel(channel.build(), sources.getOrDefault(each, new MessageSource[0]));
      }
    }
    return inbox;
  }

  /**
   * Once every bean is there: looks at their proxies, and for handlers that nobody has taken, or
   * that nobody could see before.
   */
  @Override
  public void afterSingletonsInstantiated() {
    EndingTransactions.ofAll(beans());
    List<Problem> problems = new ArrayList<>(taken.isEmpty() ? problemsOfAll() : List.of());
    problems.addAll(foundTooLate());
    for (HandlerMethod each : methods()) {
      if (!taken.contains(each.declared.channel())) {
        problems.add(
            new Problem(
                ErrorCode.INBOX_REQUIRED,
                ("Handler method %s: no inbox has taken its channel '%s', so it would never be"
                        + " called. Build one with inboxes.on(store, manager).")
                    .formatted(each.place, each.declared.channel())));
      }
      if (beans().isSingleton(each.place.bean())) {
        problems.addAll(each.problemsOf(beans().getBean(each.place.bean())));
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
  }

  /** A bean that is declared by its interface shows what it has when it is made. */
  private List<Problem> foundTooLate() {
    List<Problem> problems = new ArrayList<>();
    BeanMethod.annotated(beans(), InboxHandler.class)
        .forEach(
            (place, declared) -> {
              if (methods().stream().noneMatch(each -> isSame(each, place, declared))) {
                problems.add(
                    new Problem(
                        ErrorCode.HANDLER_METHOD_INVALID,
                        ("Handler method %s: the definition of its bean does not say that it is a"
                                + " %s, so nobody knew of the method when inboxes were built, and"
                                + " it would never be called. Declare the bean with its class.")
                            .formatted(place, place.type().getSimpleName())));
              }
            });
    return problems;
  }

  private boolean isSame(HandlerMethod known, BeanMethod place, InboxHandler declared) {
    return known.declared.key().equals(declared.key())
        && BeanMethod.isSame(beans(), known.place.bean(), place.bean());
  }

  private ConfigurableListableBeanFactory beans() {
    if (beans == null) {
      throw new IllegalStateException("SpringInboxes has to be a bean.");
    }
    return beans;
  }

  private List<HandlerMethod> methods() {
    if (methods == null) {
      methods =
          BeanMethod.annotated(beans(), InboxHandler.class).entrySet().stream()
              .map(each -> new HandlerMethod(each.getKey(), each.getValue()))
              .toList();
    }
    return methods;
  }

  private Map<String, ChannelBuilder> declared() {
    Map<String, ChannelBuilder> declared = new TreeMap<>();
    beans()
        .getBeansOfType(ChannelBuilder.class)
        .values()
        .forEach(each -> declared.put(each.name(), each));
    if (maker != null) {
      for (HandlerMethod each : methods()) {
        String channel = each.declared.channel();
        if (!declared.containsKey(channel) && !channel.isBlank()) {
          declared.put(channel, made.computeIfAbsent(channel, maker));
        }
      }
    }
    return declared;
  }

  private List<Problem> problemsOfAll() {
    List<Problem> problems = new ArrayList<>();
    Map<String, HandlerMethod> keys = new TreeMap<>();
    Set<String> channels = declared().keySet();
    for (HandlerMethod each : methods()) {
      problems.addAll(each.problems());
      if (!channels.contains(each.declared.channel())) {
        problems.add(unknownChannel("Handler method " + each.place, each.declared.channel()));
      }
      HandlerMethod first = keys.putIfAbsent(each.declared.key(), each);
      if (first != null && !each.declared.key().isBlank()) {
        problems.add(
            new Problem(
                ErrorCode.HANDLER_KEY_TWICE,
                ("The handler key '%s' is used by %s and by %s. Keys are stored with every"
                        + " delivery, so each must be unique. Rename one of the two.")
                    .formatted(each.declared.key(), first.place, each.place)));
      }
    }
    problems.addAll(formerKeysTakenTwice(keys));
    options.keySet().stream()
        .filter(key -> !keys.containsKey(key))
        .forEach(
            key ->
                problems.add(
                    new Problem(
                        ErrorCode.HANDLER_KEY_UNKNOWN,
                        ("There are options for the handler key '%s', which no method with"
                                + " @InboxHandler has. Known are: %s. Correct the key.")
                            .formatted(
                                key, keys.isEmpty() ? "none" : String.join(", ", keys.keySet())))));
    sources.keySet().stream()
        .filter(channel -> !channels.contains(channel))
        .forEach(channel -> problems.add(unknownChannel("A source", channel)));
    return problems;
  }

  /** A delivery that is stored under such a name would be anybody's. */
  private List<Problem> formerKeysTakenTwice(Map<String, HandlerMethod> keys) {
    List<Problem> problems = new ArrayList<>();
    Map<String, HandlerMethod> taken = new TreeMap<>(keys);
    for (HandlerMethod each : methods()) {
      for (String former : each.declared.formerly()) {
        HandlerMethod first = taken.putIfAbsent(former, each);
        if (first != null && first != each) {
          problems.add(
              new Problem(
                  ErrorCode.FORMER_KEY_TAKEN,
                  ("The former key '%s' of %s is also a key of %s. Keys are stored with every"
                          + " delivery, so each must be unique, former keys included. Remove one"
                          + " of the two.")
                      .formatted(former, each.place, first.place)));
        }
      }
    }
    return problems;
  }

  private Problem unknownChannel(String who, String channel) {
    Set<String> known = declared().keySet();
    return new Problem(
        ErrorCode.CHANNEL_UNKNOWN,
        ("%s: there is no channel '%s'. Known are: %s. Correct the name, or declare a bean: @Bean"
                + " ChannelBuilder channel() { return Channel.named(\"%s\"); }")
            .formatted(
                who,
                channel,
                known.isEmpty() ? "none" : known.stream().collect(joining(", ")),
                channel));
  }

  private void add(
      HandlerMethod method, @Nullable ChannelBuilder channel, @Nullable DataSource dataSource) {
    if (channel != null) {
      add(method, channel.alsoOn(method.payload()), dataSource);
    }
  }

  private <T> void add(HandlerMethod method, TypeBuilder<T> type, @Nullable DataSource dataSource) {
    HandlerKey key = HandlerKey.of(method.declared.key()).formerly(method.declared.formerly());
    BeanFactory factory = beans();
    if (method.inTransaction() && dataSource != null) {
      type.handleInTransaction(
          key,
          (payload, tx) -> {
            refuseForeign(method, dataSource);
            method.call(factory, tx.delivery(), tx);
          },
          optionsOf(method));
    } else {
      type.handleMessage(key, received -> method.call(factory, received, null), optionsOf(method));
    }
  }

  /** Whoever accepts with a connection of his own runs inline handlers outside of Spring. */
  private static void refuseForeign(HandlerMethod method, DataSource dataSource) {
    if (!TransactionSynchronizationManager.isActualTransactionActive()
        || TransactionSynchronizationManager.getResource(dataSource) == null) {
      throw new InboxException(
          ErrorCode.TX_MANAGER_FOREIGN,
          ("Handler method %s was called outside of a transaction of Spring, so its writes would"
                  + " not commit with its receipt. Accept with InboxTemplate, or without a"
                  + " connection.")
              .formatted(method.place));
    }
  }

  private HandlerOption[] optionsOf(HandlerMethod method) {
    List<HandlerOption> chosen = new ArrayList<>(List.of(optionsOfAll));
    InboxHandler declared = method.declared;
    method.within().ifPresent(time -> chosen.add(HandlerOption.within(time)));
    if (declared.atMost() != 0) {
      chosen.add(HandlerOption.atMost(declared.atMost()));
    }
    if (declared.sharedCommits() != 1) {
      chosen.add(HandlerOption.sharedCommits(declared.sharedCommits()));
    }
    if (declared.inline()) {
      chosen.add(HandlerOption.inline());
    }
    chosen.addAll(List.of(options.getOrDefault(declared.key(), new HandlerOption[0])));
    return chosen.toArray(HandlerOption[]::new);
  }

  /** Whether every handler's manager owns the data source of its inbox. */
  private static final class ManagerChecks {
    private ManagerChecks() {}

    static List<Problem> of(
        BeanFactory beans,
        SpringTransactions transactions,
        DataSource dataSource,
        List<HandlerMethod> handlers) {
      if (dataSource instanceof TransactionAwareDataSourceProxy) {
        return List.of(
            new Problem(
                ErrorCode.TX_MANAGER_FOREIGN,
                "The store is made with a TransactionAwareDataSourceProxy, so it could commit what"
                    + " is not its own. Make it with the DataSource behind it."));
      }
      List<Problem> problems = new ArrayList<>();
      String wrong = transactions.whyNot(transactions.manager());
      if (wrong != null) {
        problems.add(
            new Problem(
                ErrorCode.TX_MANAGER_FOREIGN, "The transaction manager of an inbox: " + wrong));
      }
      for (HandlerMethod each : handlers) {
        TransactionAttribute transactional = each.transactional();
        String foreign =
            transactional == null
                ? null
                : transactions.use(beans, each.declared.key(), transactional, each.place.type());
        if (foreign != null) {
          problems.add(
              new Problem(
                  ErrorCode.TX_MANAGER_FOREIGN,
                  "Handler method %s: %s".formatted(each.place, foreign)));
        }
      }
      return problems;
    }
  }
}
