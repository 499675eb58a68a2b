package dev.pigeonhole.spring.boot;

import java.util.Map;
import java.util.Set;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** The names below {@code pigeonhole.inboxes}, for what is decided before properties are bound. */
final class NamedInboxes {
  private static final String PROPERTY = "pigeonhole.inboxes";

  private NamedInboxes() {}

  static Set<String> in(Environment environment) {
    return Binder.get(environment)
        .bind(PROPERTY, Bindable.mapOf(String.class, Object.class))
        .orElse(Map.of())
        .keySet();
  }

  private static ConditionOutcome outcome(ConditionContext context, boolean wanted) {
    Set<String> names = in(context.getEnvironment());
    ConditionMessage.Builder message = ConditionMessage.forCondition("Pigeonhole inboxes");
    return new ConditionOutcome(
        names.isEmpty() != wanted,
        names.isEmpty()
            ? message.because("there is nothing below " + PROPERTY)
            : message.found("inbox", "inboxes").items(names));
  }

  /** Where inboxes have names. */
  static final class Present extends SpringBootCondition {
    @Override
    public ConditionOutcome getMatchOutcome(
        ConditionContext context, AnnotatedTypeMetadata metadata) {
      return outcome(context, true);
    }
  }

  /** Where no parent context builds inboxes. */
  static final class NotInherited extends SpringBootCondition {
    @Override
    public ConditionOutcome getMatchOutcome(
        ConditionContext context, AnnotatedTypeMetadata metadata) {
      ConfigurableListableBeanFactory beans = context.getBeanFactory();
      boolean inherited =
          beans != null
              && beans.getParentBeanFactory() instanceof ListableBeanFactory parent
              && BeanFactoryUtils.beanNamesForTypeIncludingAncestors(
                          parent, InboxFactory.class, true, false)
                      .length
                  > 0;
      return new ConditionOutcome(
          !inherited,
          ConditionMessage.forCondition("Pigeonhole inboxes")
              .because(inherited ? "a parent has them" : "no parent has any"));
    }
  }

  /** Where there is one inbox at most. */
  static final class Absent extends SpringBootCondition {
    @Override
    public ConditionOutcome getMatchOutcome(
        ConditionContext context, AnnotatedTypeMetadata metadata) {
      return outcome(context, false);
    }
  }
}
