package dev.pigeonhole.spring.boot;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.spring.InboxHandler;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.MethodIntrospector.MetadataLookup;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.util.ClassUtils;

/**
 * Whether there is anything for an inbox to do. An application that has just got the dependency, or
 * that only guards methods, starts without one.
 */
final class OnHandlers extends SpringBootCondition implements ConfigurationCondition {

  @Override
  public ConfigurationPhase getConfigurationPhase() {
    return ConfigurationPhase.REGISTER_BEAN;
  }

  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    ConditionMessage.Builder message = ConditionMessage.forCondition("Pigeonhole handlers");
    ConfigurableListableBeanFactory beans = context.getBeanFactory();
    if (beans == null) {
      return ConditionOutcome.noMatch(message.because("there are no beans"));
    }
    for (Class<?> type : new Class<?>[] {Channel.class, ChannelBuilder.class, Inbox.class}) {
      String[] names = beans.getBeanNamesForType(type, true, false);
      if (names.length > 0) {
        return ConditionOutcome.match(message.found("bean").items((Object[]) names));
      }
    }
    for (String name : beans.getBeanNamesForType(Object.class, true, false)) {
      if (handles(AutoProxyUtils.determineTargetClass(beans, name))) {
        return ConditionOutcome.match(message.found("bean").items(name));
      }
    }
    return ConditionOutcome.noMatch(
        message.because("no bean has a method with @InboxHandler, and none is a channel"));
  }

  static boolean handles(@Nullable Class<?> type) {
    // Most beans are of Spring, and looking through their methods takes time at every start.
    if (type == null || type.getName().startsWith("org.springframework.")) {
      return false;
    }
    Map<?, InboxHandler> methods =
        MethodIntrospector.selectMethods(
            ClassUtils.getUserClass(type),
            (MetadataLookup<InboxHandler>)
                each -> AnnotatedElementUtils.findMergedAnnotation(each, InboxHandler.class));
    return !methods.isEmpty();
  }
}
