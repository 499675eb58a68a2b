package dev.pigeonhole.testkit;

import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Nodes;
import dev.pigeonhole.store.Transactions;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A store whose calls can be counted, held up, and made to fail: a node's own way to a store. */
final class HookedStore implements InboxStore {
  /** Stands around a call. */
  interface Hook {
    @Nullable Object around(Call call) throws Throwable;
  }

  /** A call on its way, such as {@code settle}. */
  interface Call {
    @Nullable Object proceed() throws Throwable;

    Object argument(int index);
  }

  /** Calls of an operator: no matter what the node's own go through, an operator may look. */
  private static final String ADMIN = "admin.";

  private final InboxStore store;
  private final Acceptor acceptor;
  private final Deliveries deliveries;
  private final Nodes nodes;
  private final Maintenance maintenance;
  private final AdminQueries admin;
  private final Map<String, Hook> hooks = new ConcurrentHashMap<>();
  private final Map<String, AtomicInteger> calls = new ConcurrentHashMap<>();
  private volatile InstantSource clock;
  private boolean interruptible = true;

  HookedStore(InboxStore store) {
    this.store = store;
    this.acceptor = hooked("", Acceptor.class, store.acceptor());
    this.deliveries = hooked("", Deliveries.class, store.deliveries());
    this.nodes = hooked("", Nodes.class, store.nodes());
    this.maintenance = hooked("", Maintenance.class, store.maintenance());
    this.admin = hooked(ADMIN, AdminQueries.class, store.admin());
    this.clock = store.clock();
  }

  /**
   * From now on this hook stands around every call of this method, or of all with {@code *}; those
   * of an operator are not among them and have names such as {@code admin.step}.
   */
  HookedStore around(String method, Hook hook) {
    hooks.put(method, hook);
    return this;
  }

  HookedStore unhook(String method) {
    hooks.remove(method);
    return this;
  }

  /** What the engine takes for the time; the store itself keeps its own. */
  HookedStore tell(InstantSource time) {
    clock = time;
    return this;
  }

  /** From now on an interrupt would do harm, as it does to H2. */
  HookedStore uninterruptible() {
    interruptible = false;
    return this;
  }

  int calls(String method) {
    AtomicInteger count = calls.get(method);
    return count == null ? 0 : count.get();
  }

  private <T> T hooked(String prefix, Class<T> group, T target) {
    return group.cast(
        Proxy.newProxyInstance(
            group.getClassLoader(),
            new Class<?>[] {group},
            (proxy, method, arguments) -> {
              String name = prefix + method.getName();
              calls.computeIfAbsent(name, none -> new AtomicInteger()).incrementAndGet();
              Call call =
                  new Call() {
                    @Override
                    public @Nullable Object proceed() throws Throwable {
                      try {
                        return method.invoke(target, arguments);
                      } catch (InvocationTargetException e) {
                        throw e.getCause();
                      }
                    }

                    @Override
                    public Object argument(int index) {
                      return arguments[index];
                    }
                  };
              Hook hook = hooks.get(name);
              if (prefix.isEmpty()) {
                hook = hooks.getOrDefault("*", hook);
              }
              return hook == null ? call.proceed() : hook.around(call);
            }));
  }

  @Override
  public Acceptor acceptor() {
    return acceptor;
  }

  @Override
  public Deliveries deliveries() {
    return deliveries;
  }

  @Override
  public Nodes nodes() {
    return nodes;
  }

  @Override
  public Maintenance maintenance() {
    return maintenance;
  }

  @Override
  public AdminQueries admin() {
    return admin;
  }

  @Override
  public Optional<Transactions> transactions() {
    return Optional.empty();
  }

  @Override
  public InstantSource clock() {
    return clock;
  }

  @Override
  public boolean interruptible() {
    return interruptible;
  }
}
