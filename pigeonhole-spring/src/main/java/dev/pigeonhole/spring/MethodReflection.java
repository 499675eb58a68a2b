package dev.pigeonhole.spring;

import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Headers;
import dev.pigeonhole.Received;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.util.Set;
import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.annotation.SimpleReflectiveProcessor;
import org.springframework.core.ResolvableType;

/**
 * Keeps in a native image what is only used by reflection: annotated methods, and the classes of
 * what they take and return, which codecs read and write and keys are looked up in.
 */
final class MethodReflection extends SimpleReflectiveProcessor {
  private static final Set<Class<?>> WRAPPERS = Set.of(Received.class, HandlerTransaction.class);
  private static final Set<Class<?>> NO_CONTENT =
      Set.of(Headers.class, Connection.class, Object.class, void.class);

  private final BindingReflectionHintsRegistrar binding = new BindingReflectionHintsRegistrar();

  @Override
  protected void registerMethodHint(ReflectionHints hints, Method method) {
    super.registerMethodHint(hints, method);
    for (int i = 0; i < method.getParameterCount(); i++) {
      register(hints, ResolvableType.forMethodParameter(method, i));
    }
    register(hints, ResolvableType.forMethodReturnType(method));
  }

  private void register(ReflectionHints hints, ResolvableType type) {
    boolean wrapped = WRAPPERS.contains(type.resolve(Object.class));
    ResolvableType content = wrapped ? type.getGeneric(0) : type;
    if (!NO_CONTENT.contains(content.resolve(Object.class))) {
      binding.registerReflectionHints(hints, content.getType());
    }
  }
}
