package dev.pigeonhole.spring.boot.test;

import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.spring.boot.GuardCustomizer;
import dev.pigeonhole.spring.boot.InboxCustomizer;
import dev.pigeonhole.spring.boot.OutboxCustomizer;
import java.util.Set;
import org.springframework.boot.test.context.filter.annotation.StandardAnnotationCustomizableTypeExcludeFilter;

/** Which components of an application are in a test of its handlers. */
final class InboxTypeExcludeFilter
    extends StandardAnnotationCustomizableTypeExcludeFilter<InboxTest> {
  private final Set<Class<?>> handlers;

  InboxTypeExcludeFilter(Class<?> testClass) {
    super(testClass);
    this.handlers = Set.of(getAnnotation().getClassArray("handlers"));
  }

  @Override
  protected Set<Class<?>> getKnownIncludes() {
    return Set.of(
        InboxCustomizer.class, GuardCustomizer.class, OutboxCustomizer.class, PayloadCodec.class);
  }

  @Override
  protected Set<Class<?>> getComponentIncludes() {
    return handlers;
  }
}
