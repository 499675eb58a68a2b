package dev.pigeonhole.spring;

import java.lang.annotation.Annotation;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.annotation.BeanFactoryAnnotationUtils;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.annotation.TransactionManagementConfigurer;
import org.springframework.transaction.annotation.Transactional;

/** What methods say of their transactions, and which managers they mean. */
final class Transactions {

  /** The manager that a method means, or why there is none. */
  record Chosen(@Nullable PlatformTransactionManager manager, String problem) {}

  private Transactions() {}

  static @Nullable Transactional of(BeanMethod place) {
    return find(place, Transactional.class);
  }

  /** On the method, or else on its class. */
  static <A extends Annotation> @Nullable A find(BeanMethod place, Class<A> annotation) {
    A own = AnnotatedElementUtils.findMergedAnnotation(place.method(), annotation);
    return own != null ? own : AnnotatedElementUtils.findMergedAnnotation(place.type(), annotation);
  }

  /** As Spring itself would choose it. */
  static Chosen manager(BeanFactory beans, Transactional transactional) {
    String name = transactional.transactionManager();
    try {
      TransactionManager found =
          name.isBlank()
              ? byDefault(beans)
              : BeanFactoryAnnotationUtils.qualifiedBeanOfType(
                  beans, TransactionManager.class, name);
      return found instanceof PlatformTransactionManager manager
          ? new Chosen(manager, "")
          : new Chosen(
              null,
              "its transaction manager is a %s, which cannot join the database"
                  .formatted(found.getClass().getSimpleName()));
    } catch (NoSuchBeanDefinitionException e) {
      return new Chosen(
          null,
          name.isBlank()
              ? "there is no single transaction manager for its @Transactional. Name one in"
                  + " @Transactional(\"…\"), or mark one as @Primary"
              : "there is no transaction manager '%s', which its @Transactional names"
                  .formatted(name));
    }
  }

  private static TransactionManager byDefault(BeanFactory beans) {
    TransactionManagementConfigurer configurer =
        beans.getBeanProvider(TransactionManagementConfigurer.class).getIfAvailable();
    return configurer == null
        ? beans.getBean(TransactionManager.class)
        : configurer.annotationDrivenTransactionManager();
  }
}
