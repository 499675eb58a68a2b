package dev.pigeonhole.spring;

import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardBody;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.admin.DeliveryState;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.ResolvableType;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.util.ClassUtils;

/** A method with {@link IdempotentMethod}: where its key is, and how it is run once. */
final class GuardedMethod {
  /** Where keys of requests are unique; the same as for other endpoints. */
  private static final String REQUEST_KEYS = "http keys";

  /** Ways to content that is read after the method has returned: nothing of it could be kept. */
  private static final List<String> STREAMS =
      List.of(
          "java.io.InputStream",
          "java.io.Reader",
          "org.springframework.core.io.InputStreamSource",
          "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
          "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody");

  /** There is none, or none that could be stored. */
  private static final Set<ErrorCode> OF_KEYS =
      Set.of(
          ErrorCode.GUARD_KEY_MISSING,
          ErrorCode.ID_MISSING,
          ErrorCode.ID_BLANK,
          ErrorCode.ID_TOO_LONG,
          ErrorCode.ID_CONTROL_CHARACTER,
          ErrorCode.ID_INVALID_UNICODE);

  final BeanMethod place;
  final IdempotentMethod declared;
  private final List<KeyPath> keys = new ArrayList<>();
  private final List<Problem> problems = new ArrayList<>();
  private final @Nullable TransactionAttribute transactional;
  private final boolean client;
  private final int bodyParameter;
  private final ResolvableType returned;
  private final AnswerForm answer;
  private @Nullable KeyPath request;

  GuardedMethod(BeanMethod place, IdempotentMethod declared) {
    this.place = place;
    this.declared = declared;
    this.transactional = Transactions.of(place);
    this.client = WebRequests.isController(place);
    this.bodyParameter = client ? WebRequests.bodyOf(place.method()) : WebRequests.NO_BODY;
    this.returned = ResolvableType.forMethodReturnType(place.method(), place.type());
    this.answer = answer();
    checkMethod();
    checkKeys();
  }

  List<Problem> problems() {
    return problems;
  }

  @Nullable TransactionAttribute transactional() {
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
          "no proxy can stand before it, because it, or its class, is private, static or final."
              + " Remove that.");
    }
    Class<?> type = returned.resolve(Object.class);
    if (Future.class.isAssignableFrom(type)
        || CompletionStage.class.isAssignableFrom(type)
        || Transactions.find(place, Async.class) != null) {
      wrong("it would return before it is done. Do the work before returning, and without @Async.");
    }
    Transactions.apart(transactional)
        .ifPresent(
            propagation ->
                wrong(
                    ErrorCode.TX_MANAGER_FOREIGN,
                    ("with propagation %s its writes would not commit with its receipt. Use"
                            + " REQUIRED, or leave @Transactional out.")
                        .formatted(propagation)));
  }

  /** What it returns, if that can be read again for repeats. */
  private AnswerForm answer() {
    Class<?> type = ClassUtils.resolvePrimitiveIfNecessary(returned.resolve(Object.class));
    if (WebRequests.isResponse(type)) {
      Class<?> body = returned.getGeneric(0).resolve(Object.class);
      if (body == Object.class
          || body.getTypeParameters().length > 0
          || !"ResponseEntity".equals(type.getSimpleName())) {
        wrong(
            "it returns %s, and the body could not be read again without knowing what it is. Return a"
                    .formatted(returned)
                + " ResponseEntity of a class without type parameters, as in"
                + " ResponseEntity<Receipt>.");
      }
      checkIsContent(body);
      return new AnswerForm(body, true);
    }
    checkIsContent(type);
    if (type == Object.class) {
      wrong(
          "it returns %s, and the answer could not be read again without knowing what it is. Return a"
                  .formatted(place.method().getGenericReturnType().getTypeName())
              + " class of its own, or nothing.");
    }
    if (type.getTypeParameters().length > 0) {
      wrong(
          "it returns %s<…>, and the answer could not be read again without knowing of what. Return a"
                  .formatted(type.getSimpleName())
              + " class of its own, or nothing.");
    }
    return new AnswerForm(type, false);
  }

  private void checkIsContent(Class<?> type) {
    if (STREAMS.stream().anyMatch(each -> isA(each, type))) {
      wrong(
          "it answers with a %s, which is read after it has returned, so that nothing could be kept for"
                  .formatted(type.getSimpleName())
              + " repeats. Return the content: a class of its own, text or byte[].");
    }
  }

  private static boolean isA(String name, Class<?> type) {
    try {
      return ClassUtils.forName(name, type.getClassLoader()).isAssignableFrom(type);
    } catch (ClassNotFoundException | LinkageError e) {
      return false; // nobody can return what is not there
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
    if (declared.key().length == 0 && !client) {
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
    if (client && WebRequests.isHidden(bean)) {
      texts.add(
          "Spring does not see the controller behind a proxy of its interfaces. Let it proxy the"
              + " class (proxyTargetClass = true).");
    }
    for (String each : texts) {
      found.add(
          new Problem(
              ErrorCode.GUARDED_METHOD_INVALID, "Idempotent method %s: %s".formatted(place, each)));
    }
    return found;
  }

  @Nullable Object run(GuardTemplate guard, MethodInvocation invocation) throws Throwable {
    Run run = new Run(guard, invocation);
    try {
      GuardKey key = key(invocation);
      return outcome(guard.run(key, isVoid() ? null : byte[].class, run.of(key)), run, guard);
    } catch (InboxException e) {
      // Once it has begun, it is of a guard that the method itself has called.
      throw run.began || !OF_KEYS.contains(e.code()) ? e : WebRequests.told(client, e);
    } catch (NotKept e) {
      return run.returned;
    } catch (Thrown e) {
      throw e.getCause() == null ? e : e.getCause();
    }
  }

  private boolean isVoid() {
    return (answer.type() == void.class || answer.type() == Void.class) && !answer.response();
  }

  /** One call: what it returned, and what is kept of that. */
  private final class Run {
    private final GuardTemplate guard;
    private final MethodInvocation invocation;
    private boolean began;
    private @Nullable Object returned;

    Run(GuardTemplate guard, MethodInvocation invocation) {
      this.guard = guard;
      this.invocation = invocation;
    }

    GuardBody<byte[], Exception> of(GuardKey key) {
      return tx -> {
        began = true;
        returned = proceed(invocation);
        if (WebRequests.isFailure(returned)) {
          throw new NotKept();
        }
        if (isVoid()) {
          return null;
        }
        guard.flush(key);
        return answer.write(returned, guard.codec());
      };
    }
  }

  /** Rolls back what answers with a failure, which is sent all the same. */
  private static final class NotKept extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NotKept() {
      super("An answer with a status of 500 and above is sent, but rolled back and not kept.");
    }
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
                  ? WebRequests.fingerprint(bodyParameter, arguments)
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

  private @Nullable Object outcome(Guarded<byte[]> result, Run run, GuardTemplate guard) {
    if (result instanceof Guarded.Ran) {
      return run.returned;
    }
    if (result instanceof Guarded.Repeat<byte[]> repeat) {
      return repeated(repeat, guard);
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
    throw WebRequests.told(client, refused);
  }

  private @Nullable Object repeated(Guarded.Repeat<byte[]> repeat, GuardTemplate guard) {
    if (repeat.state() != DeliveryState.COMPLETED && repeat.state() != DeliveryState.DISCARDED) {
      throw WebRequests.told(
          client,
          new InboxException(
              ErrorCode.REQUEST_WITH_OPERATOR,
              "'%s' has failed for this key in the inbox, where it waits for an operator."
                  .formatted(declared.handler())));
    }
    if (repeat.answer().isEmpty() && !isVoid()) {
      throw WebRequests.told(
          client,
          new InboxException(
              ErrorCode.ANSWER_GONE,
              ("'%s' was done for this key at %s, and its answer is not kept: it is older than"
                      + " keepAnswers, or an inbox has handled the message.")
                  .formatted(declared.handler(), repeat.firstRun())));
    }
    if (client) {
      WebRequests.replayed();
    }
    return isVoid() ? null : answer.read(repeat.answer().get(), guard.codec());
  }
}
