package dev.pigeonhole.spring;

import java.lang.annotation.Annotation;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedObject;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * A method of a bean. It is found by the bean's class, before there is a bean: whoever handles
 * messages may need the inbox that is built for it.
 *
 * @param type the class that the bean's author has written, without proxies
 */
record BeanMethod(String bean, Class<?> type, Method method) {

  /** Every method with the annotation, in an order that does not change from start to start. */
  static <A extends Annotation> Map<BeanMethod, A> annotated(
      ConfigurableListableBeanFactory beans, Class<A> annotation) {
    Map<BeanMethod, A> found = new TreeMap<>(BeanMethod::compare);
    for (String name : beans.getBeanNamesForType(Object.class, true, false)) {
      if (ScopedProxyUtils.isScopedTarget(name)) {
        continue;
      }
      Class<?> type = typeOf(beans, name);
      if (type == null || isOfSpring(type)) {
        continue;
      }
      Class<?> user = ClassUtils.getUserClass(type);
      MethodIntrospector.selectMethods(
              user,
              (MethodIntrospector.MetadataLookup<A>)
                  each -> AnnotatedElementUtils.findMergedAnnotation(each, annotation))
          .forEach((method, value) -> found.put(new BeanMethod(name, user, method), value));
    }
    return found;
  }

  /** Of a proxy for another scope, once it is there, only its target tells. */
  private static @Nullable Class<?> typeOf(ConfigurableListableBeanFactory beans, String name) {
    Class<?> type = AutoProxyUtils.determineTargetClass(beans, name);
    return type != null && ScopedObject.class.isAssignableFrom(type)
        ? AutoProxyUtils.determineTargetClass(beans, ScopedProxyUtils.getTargetBeanName(name))
        : type;
  }

  /** Whether both names are of one object, which may have several, and proxies for each. */
  static boolean isSame(ConfigurableListableBeanFactory beans, String one, String other) {
    if (one.equals(other)) {
      return true;
    }
    return beans.isSingleton(one)
        && beans.isSingleton(other)
        && behindProxies(beans.getBean(one)) == behindProxies(beans.getBean(other));
  }

  private static Object behindProxies(Object bean) {
    Object target = AopProxyUtils.getSingletonTarget(bean);
    return target == null ? bean : behindProxies(target);
  }

  /** Most beans are, and looking through their methods takes time at every start. */
  static boolean isOfSpring(Class<?> type) {
    return type.getName().startsWith("org.springframework.");
  }

  private static int compare(BeanMethod one, BeanMethod other) {
    return (one.bean + " " + one.method).compareTo(other.bean + " " + other.method);
  }

  /** For messages: what somebody has to look for. */
  @Override
  public String toString() {
    String parameters =
        Arrays.stream(method.getParameterTypes())
            .map(Class::getSimpleName)
            .collect(Collectors.joining(", "));
    return "%s(%s) of %s (bean '%s')".formatted(method.getName(), parameters, type.getName(), bean);
  }

  /**
   * Why a proxy would call it in vain, or not at all.
   *
   * @param bean the bean as others get it
   */
  List<String> proxyProblems(Object bean) {
    List<String> problems = new ArrayList<>();
    int modifiers = method.getModifiers();
    if (AopUtils.isJdkDynamicProxy(bean) && !AopUtils.isAopProxy(bean)) {
      return problems; // a mock, or somebody's own
    }
    if (AopUtils.isJdkDynamicProxy(bean) && onProxy(bean) == null) {
      problems.add(
          "the bean is behind a proxy of its interfaces, and none of them has the method. Declare"
              + " it in an interface, or let Spring proxy the class (proxyTargetClass = true).");
    } else if (AopUtils.isCglibProxy(bean) && Modifier.isFinal(modifiers)) {
      problems.add(
          "it is final and the bean is behind a proxy, so it would run on the proxy itself, whose"
              + " fields are empty. Remove final.");
    }
    return problems;
  }

  /** The method as it can be called on this bean; null if it cannot. */
  @Nullable Method onProxy(Object bean) {
    try {
      return AopUtils.selectInvocableMethod(method, bean.getClass());
    } catch (IllegalStateException e) {
      return null;
    }
  }

  /** Calls it and throws what it throws. */
  static @Nullable Object call(Method method, Object bean, @Nullable Object[] arguments)
      throws Exception {
    try {
      ReflectionUtils.makeAccessible(method);
      return method.invoke(bean, arguments);
    } catch (InvocationTargetException e) {
      Throwable thrown = e.getTargetException();
      if (thrown instanceof Exception exception) {
        throw exception;
      }
      if (thrown instanceof Error error) {
        throw error;
      }
      throw e;
    }
  }
}
