package dev.pigeonhole.spring.boot;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.spring.SpringInboxes;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.LazyInitializationExcludeFilter;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** What inboxes are built from. */
@Configuration(proxyBeanMethods = false)
class InboxesConfiguration {

  /** That of a parent context sees only the beans of the parent. */
  @Bean
  @ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
  SpringInboxes pigeonholeHandlerRegistry() {
    return new SpringInboxes();
  }

  @Bean
  @ConditionalOnMissingBean
  HandlerThreads pigeonholeHandlerThreads(
      PigeonholeProperties properties, Environment environment) {
    return HandlerThreads.of(properties.inbox().threads(), environment);
  }

  @Bean
  @ConditionalOnMissingBean
  InboxFactory pigeonholeInboxFactory(
      SpringInboxes inboxes,
      ChosenBeans chosen,
      PigeonholeProperties properties,
      HandlerThreads threads,
      ListableBeanFactory beans) {
    return new InboxFactory(inboxes, chosen, properties, threads, beans);
  }

  /** An inbox that nobody injects handles messages all the same. */
  @Bean
  static LazyInitializationExcludeFilter pigeonholeEagerInbox() {
    return LazyInitializationExcludeFilter.forBeanTypes(
        PigeonholeLifecycle.class, SpringInboxes.class, Inbox.class);
  }
}
