package dev.pigeonhole.internal.registry;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** One property of a class: a component of a record, a public getter or a public field. */
final class Property {
  private final String name;
  private final Class<?> type;
  private final AccessibleObject member;
  private final boolean readable;

  private Property(String name, Class<?> type, AccessibleObject member) {
    this.name = name;
    this.type = type;
    this.member = member;
    // A public method of a class that is not public can otherwise not be called from here.
    this.readable = member.trySetAccessible();
  }

  static @Nullable Property find(Class<?> owner, String name) {
    if (name.isEmpty()) {
      return null;
    }
    if (owner.isRecord()) {
      for (RecordComponent component : owner.getRecordComponents()) {
        if (component.getName().equals(name)) {
          return new Property(name, component.getType(), component.getAccessor());
        }
      }
    }
    String capital = name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1);
    Method getter = getter(owner, "get" + capital);
    if (getter == null) {
      Method is = getter(owner, "is" + capital);
      getter = is != null && isBoolean(is.getReturnType()) ? is : getter(owner, name);
    }
    if (getter != null) {
      return new Property(name, getter.getReturnType(), getter);
    }
    for (Field field : owner.getFields()) {
      if (field.getName().equals(name) && !Modifier.isStatic(field.getModifiers())) {
        return new Property(name, field.getType(), field);
      }
    }
    return null;
  }

  private static @Nullable Method getter(Class<?> owner, String name) {
    try {
      Method method = owner.getMethod(name);
      return isGetter(method) ? method : null;
    } catch (NoSuchMethodException e) {
      return null;
    }
  }

  private static boolean isGetter(Method method) {
    return method.getParameterCount() == 0
        && method.getReturnType() != void.class
        && method.getDeclaringClass() != Object.class
        && !Modifier.isStatic(method.getModifiers());
  }

  private static boolean isBoolean(Class<?> type) {
    return type == boolean.class || type == Boolean.class;
  }

  /** What a class has, to help whoever has misspelt a name. */
  static List<String> names(Class<?> owner) {
    if (owner.isRecord()) {
      return Arrays.stream(owner.getRecordComponents()).map(RecordComponent::getName).toList();
    }
    TreeSet<String> names = new TreeSet<>();
    for (Method method : owner.getMethods()) {
      String name = method.getName();
      int prefix = name.startsWith("get") ? 3 : name.startsWith("is") ? 2 : name.length();
      if (prefix < name.length() && isGetter(method)) {
        String first = name.substring(prefix, prefix + 1).toLowerCase(Locale.ROOT);
        names.add(first + name.substring(prefix + 1));
      }
    }
    for (Field field : owner.getFields()) {
      if (!Modifier.isStatic(field.getModifiers())) {
        names.add(field.getName());
      }
    }
    return new ArrayList<>(names);
  }

  String name() {
    return name;
  }

  /** As it is declared. */
  Class<?> type() {
    return type;
  }

  /** Whether its module lets us. */
  boolean isReadable() {
    return readable;
  }

  @Nullable Object get(Object owner) {
    try {
      return member instanceof Method method ? method.invoke(owner) : ((Field) member).get(owner);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof RuntimeException thrown) {
        throw thrown;
      }
      if (e.getCause() instanceof Error thrown) {
        throw thrown;
      }
      throw new IllegalStateException("'" + name + "' cannot be read", e.getCause());
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("'" + name + "' cannot be read", e);
    }
  }
}
