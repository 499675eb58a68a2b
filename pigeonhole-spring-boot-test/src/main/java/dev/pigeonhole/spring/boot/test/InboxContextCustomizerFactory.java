package dev.pigeonhole.spring.boot.test;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.Environment;
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
  private static final String ALL = "pigeonhole.inboxes";

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
      Set<String> named = namedInboxes(context.getEnvironment());
      MapPropertySource ours = new MapPropertySource("Inbox of tests", properties(named));
      // What a test says itself wins over this, and this over all that the application says.
      String own = TestPropertySourceUtils.INLINED_PROPERTIES_PROPERTY_SOURCE_NAME;
      if (sources.contains(own)) {
        sources.addAfter(own, ours);
      } else {
        sources.addFirst(ours);
      }
    }

    private static Set<String> namedInboxes(Environment environment) {
      return Binder.get(environment)
          .bind(ALL, Bindable.mapOf(String.class, Object.class))
          .orElse(Map.of())
          .keySet();
    }

    private Map<String, Object> properties(Set<String> named) {
      Map<String, Object> properties = new HashMap<>();
      properties.put("pigeonhole.inbox.background-processing", false);
      properties.put("pigeonhole.outbox.background-processing", false);
      properties.put("pigeonhole.jdbc.table-prefix", TestTables.PREFIX);
      properties.put("pigeonhole.jdbc.initialize-schema", "always");
      if (slice) {
        properties.put("pigeonhole.inbox.sources", false);
      }
      // What one of several says of itself would win over what is said of all.
      for (String name : named) {
        String at = (name.matches("[\\w-]+") ? ALL + "." + name : ALL + "[" + name + "]") + ".";
        properties.put(at + "background-processing", "${pigeonhole.inbox.background-processing}");
        properties.put(
            at + "table-prefix", "${pigeonhole.jdbc.table-prefix}" + TestTables.wordFor(name));
      }
      return properties;
    }
  }
}
