package dev.pigeonhole.spring;

import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.admin.DeliveryState;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.util.ClassUtils;

/** A method with {@link IdempotentMethod}: where its key is, and how it is run once. */
final class GuardedMethod {
  /** Where keys of requests are unique; the same as for other endpoints. */
  private static final String REQUEST_KEYS = "http keys";

  final BeanMethod place;
  final IdempotentMethod declared;
  private final List<KeyPath> keys = new ArrayList<>();
  private final List<Problem> problems = new ArrayList<>();
  private final @Nullable Transactional transactional;
  private final Class<?> answer;
  private @Nullable KeyPath request;

  GuardedMethod(BeanMethod place, IdempotentMethod declared) {
    this.place = place;
    this.declared = declared;
    this.transactional = Transactions.of(place);
    this.answer = ClassUtils.resolvePrimitiveIfNecessary(place.method().getReturnType());
    checkMethod();
    checkKeys();
  }

  List<Problem> problems() {
    return problems;
  }

  @Nullable Transactional transactional() {
    return transactional;
  }

  private void wrong(String what) {
    wrong(ErrorCode.GUARDED_METHOD_INVALID, what);
  }

  private void wrong(ErrorCode code, String what) {
    problems.add(new Problem(code, "Idempotent method %s: %s".formatted(place, what)));
  }

  private void checkMethod() {
    Method method = place.method();
    int modifiers = method.getModifiers();
    if (Modifier.isPrivate(modifiers)
        || Modifier.isStatic(modifiers)
        || Modifier.isFinal(modifiers)
        || Modifier.isFinal(place.type().getModifiers()) && !isOfInterface()) {
      wrong(
          "no proxy can stand before it, because it, or its class, is private, static or final. Remove"
              + " that.");
    }
    Class<?> returned = method.getReturnType();
    if (returned.getTypeParameters().length > 0) {
      wrong(
          "it returns %s<…>, and the answer could not be read again without knowing of what. Return a"
                  .formatted(returned.getSimpleName())
              + " class of its own, or nothing.");
    }
    if (Future.class.isAssignableFrom(returned)
        || CompletionStage.class.isAssignableFrom(returned)
        || "org.reactivestreams.Publisher".equals(returned.getName())
        || Transactions.find(place, Async.class) != null) {
      wrong("it would return before it is done. Do the work before returning, and without @Async.");
    }
    if (transactional != null
        && (transactional.propagation() == Propagation.REQUIRES_NEW
            || transactional.propagation() == Propagation.NOT_SUPPORTED
            || transactional.propagation() == Propagation.NEVER)) {
      wrong(
          ErrorCode.TX_MANAGER_FOREIGN,
          "with propagation %s its writes would not commit with its receipt. Use REQUIRED, or leave"
                  .formatted(transactional.propagation())
              + " @Transactional out.");
    }
  }

  private boolean isOfInterface() {
    return ClassUtils.getAllInterfacesForClassAsSet(place.type()).stream()
        .anyMatch(
            each ->
                ClassUtils.hasMethod(
                    each, place.method().getName(), place.method().getParameterTypes()));
  }

  private void checkKeys() {
    if (declared.handler().isBlank()) {
      wrong(
          ErrorCode.HANDLER_KEY_MISSING,
          "its handler is blank. Receipts stand under it, so give it a name that stays.");
    }
    if (declared.key().length == 0 && !WebRequests.isController(place)) {
      wrong(
          "it names no key. Say where it is, as in key = \"#order.id\"; only methods of controllers"
              + " have one in the header Idempotency-Key.");
    }
    for (String each : declared.key()) {
      KeyPath path = path("key", each);
      if (path != null && !path.canBeKey()) {
        wrong(
            "its key %s is a %s, which has no text that stays the same. Name a property of it."
                .formatted(path, path.type().getSimpleName()));
      } else if (path != null) {
        keys.add(path);
      }
    }
    if (!declared.request().isBlank()) {
      request = path("request", declared.request());
    }
  }

  private @Nullable KeyPath path(String attribute, String text) {
    try {
      return KeyPath.of(text, place.method());
    } catch (IllegalArgumentException e) {
      wrong("its %s %s.".formatted(attribute, e.getMessage()));
      return null;
    }
  }

  List<Problem> problemsOf(Object bean) {
    List<Problem> found = new ArrayList<>();
    List<String> texts = new ArrayList<>(place.proxyProblems(bean));
    if (texts.isEmpty() && !AopUtils.isAopProxy(bean)) {
      texts.add(
          "its bean was made before guards could be put before it. Let nothing that is needed so"
              + " early, such as a BeanPostProcessor, depend on it.");
    }
    for (String each : texts) {
      found.add(
          new Problem(
              ErrorCode.GUARDED_METHOD_INVALID, "Idempotent method %s: %s".formatted(place, each)));
    }
    return found;
  }

  @Nullable Object run(GuardTemplate guard, MethodInvocation invocation) throws Throwable {
    try {
      Guarded<?> result =
          answer == void.class || answer == Void.class
              ? guard.run(key(invocation), tx -> proceed(invocation))
              : answered(guard, invocation, answer);
      return outcome(result);
    } catch (MissingKeyException e) {
      throw WebRequests.told(keys.isEmpty(), e);
    } catch (Thrown e) {
      throw e.getCause() == null ? e : e.getCause();
    }
  }

  private <R> Guarded<R> answered(GuardTemplate guard, MethodInvocation invocation, Class<R> type)
      throws Exception {
    return guard.answer(key(invocation), type, tx -> type.cast(proceed(invocation)));
  }

  /** Something that is no exception, on its way through those who only know exceptions. */
  private static final class Thrown extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Thrown(Throwable cause) {
      super(cause);
    }
  }

  /** A run may be repeated after a deadlock, and an invocation can only be used once. */
  private static @Nullable Object proceed(MethodInvocation invocation) throws Exception {
    MethodInvocation fresh =
        invocation instanceof ProxyMethodInvocation known ? known.invocableClone() : invocation;
    try {
      return fresh.proceed();
    } catch (Exception | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new Thrown(e);
    }
  }

  private GuardKey key(MethodInvocation invocation) {
    @Nullable Object[] arguments = invocation.getArguments();
    String handler = declared.handler();
    if (keys.isEmpty()) {
      return GuardKey.ofMessage(handler, REQUEST_KEYS, keyOfRequest())
          .formerly(declared.formerly())
          .request(
              request == null
                  ? WebRequests.fingerprint(place.method(), arguments)
                  : request.value(arguments));
    }
    String type = declared.type().isBlank() ? handler : declared.type();
    GuardKey key = GuardKey.of(handler, type, joined(arguments)).formerly(declared.formerly());
    return request == null ? key : key.request(request.value(arguments));
  }

  private static @Nullable String keyOfRequest() {
    try {
      return WebRequests.key();
    } catch (InboxException e) {
      throw WebRequests.told(true, e);
    }
  }

  /** One alone is the key as it is; several are told apart by their lengths. */
  private @Nullable String joined(@Nullable Object[] arguments) {
    if (keys.size() == 1) {
      return keys.get(0).key(arguments);
    }
    StringBuilder all = new StringBuilder();
    for (KeyPath each : keys) {
      String part = each.key(arguments);
      if (part == null || part.isBlank()) {
        return null;
      }
      all.append(all.isEmpty() ? "" : "|").append(part.length()).append(':').append(part);
    }
    return all.toString();
  }

  private @Nullable Object outcome(Guarded<?> result) {
    if (result instanceof Guarded.Ran<?> ran) {
      return ran.value();
    }
    if (result instanceof Guarded.Repeat<?> repeat) {
      return repeated(repeat);
    }
    InboxException refused =
        result instanceof Guarded.Busy<?> busy
            ? new InboxException(
                ErrorCode.GUARD_BUSY,
                "'%s' was still running for the same key after %s. Try again later."
                    .formatted(declared.handler(), busy.waited()))
            : new InboxException(
                ErrorCode.REQUEST_DIFFERS,
                ("'%s' was asked for something else with the same key before. Use a new key for a"
                        + " new request.")
                    .formatted(declared.handler()));
    throw WebRequests.told(keys.isEmpty(), refused);
  }

  private @Nullable Object repeated(Guarded.Repeat<?> repeat) {
    if (repeat.state() != DeliveryState.COMPLETED && repeat.state() != DeliveryState.DISCARDED) {
      throw WebRequests.told(
          keys.isEmpty(),
          new InboxException(
              ErrorCode.REQUEST_WITH_OPERATOR,
              "'%s' has failed for this key in the inbox, where it waits for an operator."
                  .formatted(declared.handler())));
    }
    if (answer == void.class || answer == Void.class) {
      return null;
    }
    if (repeat.answer().isEmpty()) {
      throw WebRequests.told(
          keys.isEmpty(),
          new InboxException(
              ErrorCode.ANSWER_GONE,
              ("'%s' was done for this key at %s, and its answer is not kept: it was null, it is"
                      + " older than keepAnswers, or an inbox has handled the message.")
                  .formatted(declared.handler(), repeat.firstRun())));
    }
    if (keys.isEmpty()) {
      WebRequests.replayed();
    }
    return repeat.answer().get();
  }
}
