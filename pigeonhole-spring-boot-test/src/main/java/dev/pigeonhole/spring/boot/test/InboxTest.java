package dev.pigeonhole.spring.boot.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.autoconfigure.OverrideAutoConfiguration;
import org.springframework.boot.test.context.filter.annotation.TypeExcludeFilters;
import org.springframework.context.annotation.ComponentScan.Filter;
import org.springframework.core.annotation.AliasFor;
import org.springframework.test.context.BootstrapWith;
import org.springframework.test.context.junit.jupiter.SpringExtension;

/**
 * A test of handlers and of nothing else of the application: no other components, no web server, no
 * broker, no threads. The inbox is in memory, with the properties of the application, and every
 * test method finds it empty.
 *
 * <pre>{@code
 * @InboxTest(Mailer.class)
 * class MailerTest {
 *   @Autowired TestInbox inbox;
 *   @MockitoBean MailServer server;
 *   …
 * }
 * }</pre>
 *
 * <p>As soon as the test has a DataSource, the inbox is there: with {@code @AutoConfigureJdbc} and
 * {@code @AutoConfigureTestDatabase}, or with a bean. Transactional handlers need that; see {@link
 * AutoConfigureInbox}.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@BootstrapWith(InboxTestContextBootstrapper.class)
@ExtendWith(SpringExtension.class)
@OverrideAutoConfiguration(enabled = false)
@TypeExcludeFilters(InboxTypeExcludeFilter.class)
@AutoConfigureInbox
@ImportAutoConfiguration
public @interface InboxTest {

  /** The components to test; short for {@link #handlers}. */
  @AliasFor("handlers")
  Class<?>[] value() default {};

  /**
   * The components to test, of those that the application scans for. Others, and those that are no
   * components, are brought by {@code @Import}.
   */
  @AliasFor("value")
  Class<?>[] handlers() default {};

  /** Properties that the application does not have, as {@code key=value}. */
  String[] properties() default {};

  /**
   * Whether what is named in {@link #handlers} is taken, and customizers of inboxes, guards and
   * outboxes and codecs that are components.
   */
  boolean useDefaultFilters() default true;

  /** Components to take as well. */
  Filter[] includeFilters() default {};

  /** Components to leave out, of those that would be taken. */
  Filter[] excludeFilters() default {};

  /** Auto-configuration to leave out. */
  @AliasFor(annotation = ImportAutoConfiguration.class, attribute = "exclude")
  Class<?>[] excludeAutoConfiguration() default {};
}
