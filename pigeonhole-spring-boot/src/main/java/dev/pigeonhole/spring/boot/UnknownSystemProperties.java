package dev.pigeonhole.spring.boot;

import java.util.Set;
import java.util.TreeSet;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;

/**
 * Refuses names among system properties that do not exist. Spring Boot looks for such names in
 * files and arguments alone. Others, builds for one, have properties of the JVM that begin with
 * {@code pigeonhole.} as well, so only those in one of our groups count, such as {@code
 * pigeonhole.inbox}.
 */
final class UnknownSystemProperties {
  private UnknownSystemProperties() {}

  static void refuse(ConfigurableEnvironment environment) {
    PropertySource<?> system =
        environment
            .getPropertySources()
            .get(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME);
    if (system == null
        || !(ConfigurationPropertySource.from(system)
            instanceof IterableConfigurationPropertySource names)) {
      return;
    }
    Set<ConfigurationProperty> unknown = new TreeSet<>();
    for (ConfigurationPropertyName name : names) {
      ConfigurationProperty property =
          KnownProperties.isMisspelt(name) ? names.getConfigurationProperty(name) : null;
      if (property != null) {
        unknown.add(property);
      }
    }
    if (!unknown.isEmpty()) {
      throw new UnboundConfigurationPropertiesException(unknown);
    }
  }
}
