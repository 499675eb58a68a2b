package dev.pigeonhole;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Says what tells messages of a class apart: properties of it, or without a {@link #key} the whole
 * content. It counts on the class that a channel names with {@code on(…)}, or on one that it
 * extends. {@link TypeBuilder#keyedBy} and {@link IdempotentMessage} win over it.
 *
 * <pre>{@code
 * @Idempotent(key = {"tenant", "order.id"})
 * record ShipOrder(String tenant, Order order) {}
 *
 * @Idempotent(except = "requestedAt") // SHA-256 of the canonical content
 * record ImportData(String source, int batch, Instant requestedAt) {}
 * }</pre>
 *
 * <p>A name that does not exist refuses to start with {@code PH-KEY-10}.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface Idempotent {

  /**
   * Properties whose values are the key: record components, public getters or public fields, with
   * dots to go further in. Texts, numbers, booleans, enums, UUIDs, URIs and times can be keys. If
   * one of several is null or blank, the key is missing, and {@link TypeBuilder#missingKey}
   * decides.
   */
  String[] key() default {};

  /**
   * Fields that do not count for the hash of the content, by their names in the content, with dots
   * to go further in. What lies in a list is reached by the name of the list. Not together with
   * {@link #key}.
   */
  String[] except() default {};
}
