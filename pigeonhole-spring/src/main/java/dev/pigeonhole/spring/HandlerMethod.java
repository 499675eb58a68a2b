package dev.pigeonhole.spring;

import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Received;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.core.ResolvableType;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.util.ClassUtils;

/** A method with {@link InboxHandler}: what it wants to be given, and how it is called. */
final class HandlerMethod {

  /** What is known of a delivery when it is handled. */
  private record Call(Received<?> received, @Nullable HandlerTransaction<?> transaction) {}

  /** Where one argument comes from. */
  private interface Argument {
    @Nullable Object of(Call call);
  }

  final BeanMethod place;
  final InboxHandler declared;
  private final List<Argument> arguments = new ArrayList<>();
  private final List<Problem> problems = new ArrayList<>();
  private final @Nullable TransactionAttribute transactional;
  private @Nullable Class<?> payload;
  private @Nullable Duration within;
  private boolean takesTransaction;

  /**
   * The bean and its method, once there is a bean; those of other scopes are asked for each time.
   */
  private volatile @Nullable Target known;

  private record Target(Object bean, Method method) {}

  HandlerMethod(BeanMethod place, InboxHandler declared) {
    this.place = place;
    this.declared = declared;
    this.transactional = Transactions.of(place);
    checkMethod();
    checkDeclared();
    for (Parameter parameter : place.method().getParameters()) {
      arguments.add(argument(parameter));
    }
    if (payload == null && problems.isEmpty()) {
      wrong(
          "it has no parameter for the payload, so nobody can say which messages it takes. Add one,"
              + " or a Received<…> of its class.");
    }
  }

  List<Problem> problems() {
    return problems;
  }

  /** The class of messages that it takes. */
  Class<?> payload() {
    return payload == null ? Object.class : payload;
  }

  Optional<Duration> within() {
    return Optional.ofNullable(within);
  }

  /** Whether its writes commit with its receipt. */
  boolean inTransaction() {
    return transactional != null || takesTransaction;
  }

  /** What it says of its transaction; null if it says nothing. */
  @Nullable TransactionAttribute transactional() {
    return transactional;
  }

  private void wrong(String what) {
    wrong(ErrorCode.HANDLER_METHOD_INVALID, what);
  }

  private void wrong(ErrorCode code, String what) {
    problems.add(new Problem(code, "Handler method %s: %s".formatted(place, what)));
  }

  private void checkDeclared() {
    if (declared.key().isBlank()) {
      wrong(
          ErrorCode.HANDLER_KEY_MISSING,
          "its key is blank. Keys are stored with every delivery, so give it a name that stays.");
    }
    if (!declared.within().isBlank()) {
      try {
        within = DurationFormatterUtils.detectAndParse(declared.within());
      } catch (IllegalArgumentException e) {
        wrong(
            ErrorCode.TIMEOUT_INVALID,
            "within = \"%s\" is no duration. Write it as 20s, 5m or PT1H."
                .formatted(declared.within()));
      }
    }
  }

  private void checkMethod() {
    Method method = place.method();
    if (Modifier.isPrivate(method.getModifiers())) {
      wrong("it is private, and a proxy of the bean could not pass it on. Let it be seen.");
    }
    if (Modifier.isStatic(method.getModifiers())) {
      wrong("it is static, and so not a method of the bean. Remove static.");
    }
    if (method.getReturnType() != void.class) {
      wrong(
          "it returns %s, and nobody would wait for it or look at it. Return nothing, and do the work"
                  .formatted(method.getReturnType().getSimpleName())
              + " before returning.");
    }
    if (Transactions.find(place, Async.class) != null) {
      wrong(
          "it is @Async, so it would count as done before it has begun. Remove that; the inbox runs"
              + " handlers in threads of its own.");
    }
    if (transactional == null) {
      return;
    }
    if (Modifier.isFinal(method.getModifiers()) || Modifier.isFinal(place.type().getModifiers())) {
      wrong(
          "it is @Transactional, and final, so no proxy can begin a transaction for those who call"
              + " it. Remove final.");
    }
    Transactions.apart(transactional)
        .ifPresent(
            propagation ->
                wrong(
                    ErrorCode.TX_MANAGER_FOREIGN,
                    ("with propagation %s its writes would not commit with its receipt. Use"
                            + " REQUIRED, or leave @Transactional out and bear repeats.")
                        .formatted(propagation)));
  }

  private Argument argument(Parameter parameter) {
    Class<?> type = parameter.getType();
    InboxHeader header = parameter.getAnnotation(InboxHeader.class);
    if (header != null) {
      return header(parameter, header);
    }
    if (type == Headers.class) {
      return call -> call.received().headers();
    }
    if (type == Received.class) {
      takesPayloadOf(parameter);
      return Call::received;
    }
    if (type == HandlerTransaction.class) {
      takesTransaction = true;
      takesPayloadOf(parameter);
      return call -> transaction(call);
    }
    if (type == Connection.class) {
      takesTransaction = true;
      return call -> transaction(call).connection();
    }
    if (type.isPrimitive() || type == Object.class || type == Optional.class) {
      wrong(
          "nobody knows what its parameter '%s %s' should be. A payload has a class of its own, and a"
                  .formatted(type.getSimpleName(), parameter.getName())
              + " header has @InboxHeader(\"…\").");
    } else {
      takesPayload(type, parameter);
    }
    return call -> call.received().payload();
  }

  private static HandlerTransaction<?> transaction(Call call) {
    if (call.transaction() == null) {
      throw new IllegalStateException("a method that wants a transaction was called without one");
    }
    return call.transaction();
  }

  private void takesPayloadOf(Parameter parameter) {
    Class<?> type =
        ResolvableType.forType(parameter.getParameterizedType()).getGeneric(0).resolve();
    if (type != null && type != Object.class) {
      takesPayload(type, parameter);
    }
  }

  private void takesPayload(Class<?> type, Parameter parameter) {
    if (payload != null && payload != type) {
      wrong(
          "both %s and %s (parameter '%s') would be its payload, and a message has one. Annotate the"
                  .formatted(payload.getSimpleName(), type.getSimpleName(), parameter.getName())
              + " other with @InboxHeader(\"…\"), or take it out.");
      return;
    }
    payload = type;
  }

  private Argument header(Parameter parameter, InboxHeader header) {
    boolean optional = parameter.getType() == Optional.class;
    Class<?> type =
        optional
            ? ResolvableType.forType(parameter.getParameterizedType())
                .getGeneric(0)
                .resolve(Object.class)
            : ClassUtils.resolvePrimitiveIfNecessary(parameter.getType());
    if (header.value().isBlank()) {
      wrong("@InboxHeader of its parameter '%s' names no header.".formatted(parameter.getName()));
    }
    if (!optional && !header.required() && parameter.getType().isPrimitive()) {
      wrong(
          "its parameter '%s' cannot be null. Use %s instead."
              .formatted(parameter.getName(), type.getSimpleName()));
    }
    return call -> {
      Object value = header(call.received().headers().get(header.value()), type);
      if (optional) {
        return Optional.ofNullable(value);
      }
      if (value == null && header.required()) {
        throw new InboxException(
            ErrorCode.HEADER_VALUE_UNSUPPORTED,
            "The message has no header '%s' that is a %s, which %s needs."
                .formatted(header.value(), type.getSimpleName(), place));
      }
      return value;
    };
  }

  /** Whole numbers come back as the widest; what asks for less gets it if it fits. */
  private static @Nullable Object header(@Nullable Object value, Class<?> type) {
    if (type == Integer.class && value instanceof Long number) {
      return number == number.intValue() ? number.intValue() : null;
    }
    return type.isInstance(value) ? value : null;
  }

  /** Why the bean, now that it is there, cannot be called. */
  List<Problem> problemsOf(Object bean) {
    return place.proxyProblems(bean).stream()
        .map(
            what ->
                new Problem(
                    ErrorCode.HANDLER_METHOD_INVALID,
                    "Handler method %s: %s".formatted(place, what)))
        .toList();
  }

  void call(BeanFactory beans, Received<?> received, @Nullable HandlerTransaction<?> transaction)
      throws Exception {
    Call call = new Call(received, transaction);
    Target target = target(beans);
    BeanMethod.call(
        target.method(), target.bean(), arguments.stream().map(each -> each.of(call)).toArray());
  }

  private Target target(BeanFactory beans) {
    Target target = known;
    if (target != null) {
      return target;
    }
    Object bean = beans.getBean(place.bean());
    Method method = place.onProxy(bean);
    if (method == null) {
      throw new InboxException(
          ErrorCode.HANDLER_METHOD_INVALID,
          "Handler method %s cannot be called on its bean.".formatted(place));
    }
    target = new Target(bean, method);
    if (beans.isSingleton(place.bean())) {
      known = target;
    }
    return target;
  }
}
