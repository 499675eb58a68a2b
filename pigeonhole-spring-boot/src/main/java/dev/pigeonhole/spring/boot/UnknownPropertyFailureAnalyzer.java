package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ErrorCode;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Says which property does not exist, where it stands, and what was meant. Spring Boot looks for
 * such names in files and arguments, {@link UnknownSystemProperties} among those of the JVM;
 * variables of the environment belong to others as well.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class UnknownPropertyFailureAnalyzer
    extends AbstractFailureAnalyzer<UnboundConfigurationPropertiesException> {

  @Override
  protected @Nullable FailureAnalysis analyze(
      Throwable rootFailure, UnboundConfigurationPropertiesException cause) {
    List<ConfigurationProperty> ours =
        cause.getUnboundProperties().stream()
            .filter(each -> each.getName().toString().startsWith("pigeonhole."))
            .toList();
    if (ours.isEmpty()) {
      return null;
    }
    return new FailureAnalysis(
        ours.stream().map(UnknownPropertyFailureAnalyzer::line).collect(Collectors.joining("\n")),
        "Correct the names. %s is explained in docs/errors.md; docs/spring-properties.md lists all."
            .formatted(ErrorCode.PROPERTY_UNKNOWN.text()),
        cause);
  }

  private static String line(ConfigurationProperty property) {
    String name = property.getName().toString();
    return "%s: the property %s does not exist%s. %s"
        .formatted(
            ErrorCode.PROPERTY_UNKNOWN.text(),
            name,
            property.getOrigin() == null ? "" : " (%s)".formatted(property.getOrigin()),
            KnownProperties.wayOut(name));
  }
}
