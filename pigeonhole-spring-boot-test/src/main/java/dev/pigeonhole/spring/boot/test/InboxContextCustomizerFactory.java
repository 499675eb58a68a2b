package dev.pigeonhole.spring.boot.test;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.test.context.TestContextAnnotationUtils;
import org.springframework.test.context.support.TestPropertySourceUtils;

/** Says in properties what an inbox under test does otherwise. */
final class InboxContextCustomizerFactory implements ContextCustomizerFactory {

  InboxContextCustomizerFactory() {}

  @Override
  public @Nullable ContextCustomizer createContextCustomizer(
      Class<?> testClass, List<ContextConfigurationAttributes> attributes) {
    return TestContextAnnotationUtils.hasAnnotation(testClass, AutoConfigureInbox.class)
        ? new TestProperties(TestContextAnnotationUtils.hasAnnotation(testClass, InboxTest.class))
        : null;
  }

  /** A record, for contexts with equal customizers are shared. */
  private record TestProperties(boolean slice) implements ContextCustomizer {

    @Override
    public void customizeContext(
        ConfigurableApplicationContext context, MergedContextConfiguration merged) {
      MutablePropertySources sources = context.getEnvironment().getPropertySources();
      MapPropertySource ours = new MapPropertySource("Inbox of tests", properties());
      // What a test says itself wins over this, and this over all that the application says.
      String own = TestPropertySourceUtils.INLINED_PROPERTIES_PROPERTY_SOURCE_NAME;
      if (sources.contains(own)) {
        sources.addAfter(own, ours);
      } else {
        sources.addFirst(ours);
      }
    }

    private Map<String, Object> properties() {
      Map<String, Object> properties = new HashMap<>();
      properties.put("pigeonhole.inbox.background-processing", false);
      properties.put("pigeonhole.outbox.background-processing", false);
      properties.put("pigeonhole.jdbc.table-prefix", TestTables.PREFIX);
      properties.put("pigeonhole.jdbc.initialize-schema", "always");
      if (slice) {
        properties.put("pigeonhole.inbox.sources", false);
      }
      return properties;
    }
  }
}
