package dev.pigeonhole.spring;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.InboxException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.Ordered;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.util.ClassUtils;

/**
 * Puts a guard before methods with {@link IdempotentMethod}, outside of everything else that Spring
 * puts there.
 *
 * <pre>{@code
 * @Bean
 * static IdempotentMethods idempotentMethods() {
 *   return new IdempotentMethods();
 * }
 * }</pre>
 *
 * <p>The bean method is {@code static}, as for every {@code BeanPostProcessor}: it is needed before
 * other beans are.
 */
public final class IdempotentMethods extends AbstractBeanFactoryAwareAdvisingPostProcessor
    implements SmartInitializingSingleton {
  private static final long serialVersionUID = 1L;

  private static final Logger LOG = LoggerFactory.getLogger(IdempotentMethods.class);

  private transient @Nullable ConfigurableListableBeanFactory beans;

  /** By the method of the class that its author has written; complete before anybody calls. */
  private final transient Map<Method, GuardedMethod> methods = new ConcurrentHashMap<>();

  private final transient Map<String, GuardTemplate> guards = new ConcurrentHashMap<>();

  /** Knows nothing yet; the context tells it of its beans. */
  public IdempotentMethods() {
    setBeforeExistingAdvisors(true);
    // Before those that look for listeners of brokers, which are last: they would take what has no
    // guard before it.
    setOrder(Ordered.LOWEST_PRECEDENCE - 1);
    this.advisor =
        new DefaultPointcutAdvisor(
            new AnnotationMatchingPointcut(null, IdempotentMethod.class, true),
            (MethodInterceptor) this::guarded);
  }

  @Override
  public void setBeanFactory(BeanFactory beanFactory) {
    super.setBeanFactory(beanFactory);
    this.beans = (ConfigurableListableBeanFactory) beanFactory;
  }

  /** What no proxy can stand before is reported with its place, and with all other mistakes. */
  @Override
  protected boolean isEligible(Class<?> targetClass) {
    return super.isEligible(targetClass)
        && !(Modifier.isFinal(targetClass.getModifiers())
            && ClassUtils.getAllInterfacesForClass(targetClass).length == 0);
  }

  /** Where classes are to be proxied, one that cannot be still has its interfaces. */
  @Override
  protected ProxyFactory prepareProxyFactory(Object bean, String beanName) {
    ProxyFactory factory = super.prepareProxyFactory(bean, beanName);
    if (Modifier.isFinal(bean.getClass().getModifiers())) {
      factory.setProxyTargetClass(false);
    }
    return factory;
  }

  /**
   * A bean that is declared under a second name has its guard already. Callers may be in a
   * transaction of any manager.
   */
  @Override
  public Object postProcessAfterInitialization(Object bean, String beanName) {
    if (bean instanceof PlatformTransactionManager manager) {
      EndingTransactions.of(manager);
    }
    return isGuarded(bean) ? bean : super.postProcessAfterInitialization(bean, beanName);
  }

  private boolean isGuarded(@Nullable Object bean) {
    return bean instanceof Advised proxy && advisor != null && proxy.indexOf(advisor) >= 0;
  }

  private @Nullable Object guarded(MethodInvocation invocation) throws Throwable {
    Object target = invocation.getThis();
    if (isGuarded(target)) {
      return invocation.proceed(); // the proxy of another name, before one that guards
    }
    Method method =
        target == null
            ? invocation.getMethod()
            : AopUtils.getMostSpecificMethod(invocation.getMethod(), target.getClass());
    GuardedMethod guarded = methods.get(method);
    if (guarded == null) {
      throw new IllegalStateException(
          "%s was called before the application had started.".formatted(method));
    }
    return guarded.run(guard(guarded.declared.guard()), invocation);
  }

  private GuardTemplate guard(String name) {
    return guards.computeIfAbsent(
        name,
        each ->
            each.isBlank()
                ? beans().getBean(GuardTemplate.class)
                : beans().getBean(each, GuardTemplate.class));
  }

  private ConfigurableListableBeanFactory beans() {
    if (beans == null) {
      throw new IllegalStateException("IdempotentMethods has to be a bean.");
    }
    return beans;
  }

  /** Once every bean is there: checks them all, and refuses to start with every problem. */
  @Override
  public void afterSingletonsInstantiated() {
    List<Problem> problems = new ArrayList<>();
    Map<String, GuardedMethod> handlers = new TreeMap<>();
    BeanMethod.annotated(beans(), IdempotentMethod.class)
        .forEach(
            (place, declared) -> {
              GuardedMethod method = new GuardedMethod(place, declared);
              problems.addAll(method.problems());
              GuardedMethod first = handlers.putIfAbsent(declared.handler(), method);
              if (first != null && !declared.handler().isBlank() && !isSame(first, method)) {
                problems.add(twice(first, method));
              }
              if (method.problems().isEmpty()) {
                problems.addAll(problemsOf(method));
              }
              methods.put(place.method(), method);
            });
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    prepare(handlers.values());
  }

  /** What cannot be prepared now, the first call prepares, or is told why not. */
  private void prepare(Collection<GuardedMethod> all) {
    Map<GuardTemplate, List<HandlerKey>> keys = new IdentityHashMap<>();
    for (GuardedMethod each : all) {
      keys.computeIfAbsent(guard(each.declared.guard()), guard -> new ArrayList<>())
          .add(HandlerKey.of(each.declared.handler()).formerly(each.declared.formerly()));
    }
    keys.forEach(
        (guard, ours) -> {
          try {
            guard.prepare(ours);
          } catch (InboxException e) {
            LOG.warn(
                "Handlers of guarded methods were not registered at startup. The first call of each"
                    + " registers its handler and needs a second connection for that: {}",
                e.getMessage());
          }
        });
  }

  /** A bean may have several names; another bean of its class is another one. */
  private boolean isSame(GuardedMethod first, GuardedMethod second) {
    return first.place.method().equals(second.place.method())
        && BeanMethod.isSame(beans(), first.place.bean(), second.place.bean());
  }

  private static Problem twice(GuardedMethod first, GuardedMethod second) {
    boolean inherited = first.place.method().equals(second.place.method());
    return new Problem(
        ErrorCode.HANDLER_KEY_TWICE,
        ("The handler '%s' is used by %s and by %s. Receipts stand under it, so each must be"
                + " unique. %s")
            .formatted(
                second.declared.handler(),
                first.place,
                second.place,
                inherited
                    ? "Override the method in the class of one, with another handler."
                    : "Rename one of the two."));
  }

  private List<Problem> problemsOf(GuardedMethod method) {
    List<Problem> problems = new ArrayList<>();
    if (beans().isSingleton(method.place.bean())) {
      problems.addAll(method.problemsOf(beans().getBean(method.place.bean())));
    }
    GuardTemplate guard;
    try {
      guard = guard(method.declared.guard());
    } catch (NoSuchBeanDefinitionException e) {
      problems.add(
          new Problem(
              ErrorCode.GUARDED_METHOD_INVALID,
              ("Idempotent method %s: there is no single bean of GuardTemplate for it, so every"
                      + " repeat would run. Declare one, or name one with guard = \"…\"; with Spring"
                      + " Boot, a DataSource is enough.")
                  .formatted(method.place)));
      return problems;
    }
    TransactionAttribute transactional = method.transactional();
    if (transactional != null) {
      String wrong =
          guard
              .transactions()
              .use(beans(), method.declared.handler(), transactional, method.place.type());
      if (wrong != null) {
        problems.add(
            new Problem(
                ErrorCode.TX_MANAGER_FOREIGN,
                "Idempotent method %s: %s".formatted(method.place, wrong)));
      }
    }
    return problems;
  }
}
