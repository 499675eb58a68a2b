package dev.pigeonhole.spring;

import java.lang.annotation.Annotation;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.annotation.BeanFactoryAnnotationUtils;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.TransactionManagementConfigurer;
import org.springframework.transaction.interceptor.TransactionAttribute;

/** What methods say of their transactions, and which managers they mean. */
final class Transactions {

  /** The manager that a method means, or why there is none. */
  record Chosen(@Nullable PlatformTransactionManager manager, String problem) {}

  private Transactions() {}

  /** What Spring goes by, whosever annotation it is; null if it is not transactional. */
  static @Nullable TransactionAttribute of(BeanMethod place) {
    Attributes attributes = new Attributes();
    TransactionAttribute own = attributes.getTransactionAttribute(place.method(), place.type());
    return own != null ? own : attributes.findTransactionAttribute(place.type());
  }

  /** Spring does not apply the annotation of a class to what it has inherited; here it counts. */
  private static final class Attributes extends AnnotationTransactionAttributeSource {
    private static final long serialVersionUID = 1L;

    Attributes() {
      super(false); // handlers need not be public
    }

    @Override
    protected @Nullable TransactionAttribute findTransactionAttribute(Class<?> type) {
      return super.findTransactionAttribute(type);
    }
  }

  /** The propagation, if it is one whose writes would not commit with the receipt. */
  static Optional<Propagation> apart(@Nullable TransactionAttribute transactional) {
    if (transactional == null) {
      return Optional.empty();
    }
    int propagation = transactional.getPropagationBehavior();
    return Stream.of(Propagation.REQUIRES_NEW, Propagation.NOT_SUPPORTED, Propagation.NEVER)
        .filter(each -> each.value() == propagation)
        .findFirst();
  }

  /** On the method, or else on its class. */
  static <A extends Annotation> @Nullable A find(BeanMethod place, Class<A> annotation) {
    A own = AnnotatedElementUtils.findMergedAnnotation(place.method(), annotation);
    return own != null ? own : AnnotatedElementUtils.findMergedAnnotation(place.type(), annotation);
  }

  /**
   * As Spring itself would choose it.
   *
   * @param type the class of the method, which may have a qualifier
   */
  static Chosen manager(BeanFactory beans, TransactionAttribute transactional, Class<?> type) {
    String name = transactional.getQualifier();
    try {
      TransactionManager found =
          name == null || name.isBlank() ? unnamed(beans, type) : qualified(beans, name);
      return found instanceof PlatformTransactionManager manager
          ? new Chosen(manager, "")
          : new Chosen(
              null,
              "its transaction manager is a %s, which cannot join the database"
                  .formatted(found.getClass().getSimpleName()));
    } catch (NoSuchBeanDefinitionException e) {
      return new Chosen(
          null,
          name == null || name.isBlank()
              ? "there is no single transaction manager for its @Transactional. Name one in"
                  + " @Transactional(\"…\"), or mark one as @Primary"
              : "there is no transaction manager '%s', which its @Transactional names"
                  .formatted(name));
    }
  }

  private static TransactionManager unnamed(BeanFactory beans, Class<?> type) {
    String ofClass = BeanFactoryAnnotationUtils.getQualifierValue(type);
    if (ofClass != null && !ofClass.isBlank()) {
      try {
        return qualified(beans, ofClass);
      } catch (NoSuchBeanDefinitionException e) {
        return byDefault(beans); // it tells beans apart, and says nothing of transactions
      }
    }
    return byDefault(beans);
  }

  private static TransactionManager qualified(BeanFactory beans, String name) {
    return BeanFactoryAnnotationUtils.qualifiedBeanOfType(beans, TransactionManager.class, name);
  }

  private static TransactionManager byDefault(BeanFactory beans) {
    TransactionManagementConfigurer configurer =
        beans.getBeanProvider(TransactionManagementConfigurer.class).getIfAvailable();
    return configurer == null
        ? beans.getBean(TransactionManager.class)
        : configurer.annotationDrivenTransactionManager();
  }
}
