package dev.pigeonhole.spring.boot;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.beans.factory.annotation.Qualifier;

/**
 * Marks the bean of {@link org.springframework.transaction.PlatformTransactionManager} that begins
 * the transactions of handlers and guards, where there are several. It has to own the DataSource of
 * the inbox.
 */
@Documented
@Qualifier @Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.FIELD, ElementType.METHOD, ElementType.PARAMETER, ElementType.TYPE})
public @interface PigeonholeTransactionManager {}
