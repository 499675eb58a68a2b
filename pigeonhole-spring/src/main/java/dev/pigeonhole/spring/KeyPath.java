package dev.pigeonhole.spring;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.math.BigDecimal;
import java.net.URI;
import java.time.temporal.TemporalAccessor;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringUtils;

/**
 * {@code #order.customer.id} over the parameters of a method, resolved by their types. Not an
 * expression language on purpose: there is nothing in it that a caller could make it do.
 */
final class KeyPath {
  private static final Pattern FORM = Pattern.compile("#[A-Za-z_$][\\w$]*(\\.[A-Za-z_$][\\w$]*)*");

  private static final int LONGEST_PLAIN = 100;

  /** One step into an object. */
  private interface Step {
    @Nullable Object of(Object owner) throws ReflectiveOperationException;
  }

  private final String text;
  private final int parameter;
  private final List<Step> steps;
  private final Class<?> type;

  private KeyPath(String text, int parameter, List<Step> steps, Class<?> type) {
    this.text = text;
    this.parameter = parameter;
    this.steps = steps;
    this.type = type;
  }

  /**
   * Reads a path.
   *
   * @throws IllegalArgumentException with a sentence that says what is wrong
   */
  static KeyPath of(String text, Method method) {
    if (!FORM.matcher(text).matches()) {
      throw new IllegalArgumentException(
          "\"%s\" is not of the form #parameter.property.property".formatted(text));
    }
    String[] names = text.substring(1).split("\\.");
    Parameter[] parameters = method.getParameters();
    List<String> known = new ArrayList<>();
    for (int i = 0; i < parameters.length; i++) {
      known.add("#" + parameters[i].getName());
      if (parameters[i].getName().equals(names[0])) {
        return of(text, i, names, parameters[i].getType());
      }
    }
    String way =
        parameters.length > 0 && !parameters[0].isNamePresent()
            ? ". The class was compiled without the names of parameters; compile it with"
                + " -parameters"
            : "";
    throw new IllegalArgumentException(
        "\"%s\": there is no parameter '%s'. Known are: %s%s"
            .formatted(text, names[0], known.isEmpty() ? "none" : String.join(", ", known), way));
  }

  private static KeyPath of(String text, int parameter, String[] names, Class<?> start) {
    List<Step> steps = new ArrayList<>();
    Class<?> type = start;
    for (int i = 1; i < names.length; i++) {
      Class<?> owner = type;
      Method getter = getter(owner, names[i]);
      Field field = getter == null ? ReflectionUtils.findField(owner, names[i]) : null;
      if (getter != null) {
        ReflectionUtils.makeAccessible(getter);
        steps.add(getter::invoke);
        type = getter.getReturnType();
      } else if (field != null && Modifier.isPublic(field.getModifiers())) {
        ReflectionUtils.makeAccessible(field);
        steps.add(field::get);
        type = field.getType();
      } else {
        throw new IllegalArgumentException(
            "\"%s\": %s has no property '%s'".formatted(text, owner.getName(), names[i]));
      }
    }
    return new KeyPath(text, parameter, List.copyOf(steps), type);
  }

  private static @Nullable Method getter(Class<?> owner, String name) {
    String property = StringUtils.capitalize(name);
    for (String each : List.of(name, "get" + property, "is" + property)) {
      Method method = ReflectionUtils.findMethod(owner, each);
      if (method != null
          && Modifier.isPublic(method.getModifiers())
          && !Modifier.isStatic(method.getModifiers())
          && method.getReturnType() != void.class
          && method.getDeclaringClass() != Object.class) {
        return method;
      }
    }
    return null;
  }

  /** Whether its values can be written as a key that stays the same; known only later for some. */
  boolean canBeKey() {
    return type.isPrimitive()
        || type == Object.class
        || type.isInterface()
        || CharSequence.class.isAssignableFrom(type)
        || Number.class.isAssignableFrom(type)
        || type == Boolean.class
        || type == Character.class
        || type.isEnum()
        || type == UUID.class
        || type == URI.class
        || TemporalAccessor.class.isAssignableFrom(type);
  }

  Class<?> type() {
    return type;
  }

  /** The value; null if it is, or if something on the way to it is. */
  @Nullable Object value(@Nullable Object[] arguments) {
    Object value = arguments[parameter];
    for (Step step : steps) {
      if (value == null) {
        return null;
      }
      value = step(step, value);
    }
    return value;
  }

  private @Nullable Object step(Step step, Object owner) {
    try {
      return step.of(owner);
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(
          "The key \"%s\" could not be read.".formatted(text), e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("The key \"%s\" could not be read.".formatted(text), e);
    }
  }

  /** The value as part of a key; null where there is none. */
  @Nullable String key(@Nullable Object[] arguments) {
    Object value = value(arguments);
    if (value == null) {
      return null;
    }
    if (value instanceof Enum<?> constant) {
      return constant.name();
    }
    if (value instanceof BigDecimal number) {
      return text(number);
    }
    if (value instanceof CharSequence
        || value instanceof Number
        || value instanceof Boolean
        || value instanceof Character
        || value instanceof UUID
        || value instanceof URI
        || value instanceof TemporalAccessor) {
      return value.toString();
    }
    throw new IllegalStateException(
        "The key \"%s\" is a %s, which has no text that stays the same. Use text, a number, a boolean,"
                .formatted(text, value.getClass().getName())
            + " an enum, a UUID, a URI or a time.");
  }

  /** 1.0 and 1.00 are one key. With a large exponent, the digits would fill the memory. */
  private static String text(BigDecimal number) {
    BigDecimal shortest = number.stripTrailingZeros();
    return Math.abs((long) shortest.scale()) > LONGEST_PLAIN
        ? shortest.toString()
        : shortest.toPlainString();
  }

  @Override
  public String toString() {
    return text;
  }
}
