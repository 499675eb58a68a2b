package dev.pigeonhole.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;

/**
 * Lets a method of a bean run once for each key, in one transaction with the receipt of it: a
 * listener of a broker, a method of a controller, or any other.
 *
 * <pre>{@code
 * @IdempotentMethod(handler = "charge-card", key = "#order.id")
 * public Receipt charge(Order order) { … }
 * }</pre>
 *
 * <p>A repeat is not run, and gets the answer of the first run. A copy that comes while the first
 * is running waits for it. The method runs in the transaction of its caller or in a new one,
 * whether or not it is {@code @Transactional}, and any exception rolls that back.
 *
 * <p>It works where Spring's proxies work: not for calls within the same object, and not for
 * methods that are private, static or final. Those refuse to start, as does a name in a key that is
 * wrong.
 *
 * <p>Needs beans of {@link IdempotentMethods} and {@link GuardTemplate}. Not to be confused with
 * {@link dev.pigeonhole.Idempotent}, which stands on classes of messages.
 */
@Documented
@Reflective(MethodReflection.class)
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface IdempotentMethod {

  /** The stable name that receipts stand under; unique in the application. */
  String handler();

  /**
   * Where the key is: {@code #parameter}, and with dots the properties of it, such as {@code
   * #order.id}. Several together are one key. They are looked up once, when the application starts,
   * by the types of the parameters; nothing that a caller sends is ever evaluated.
   *
   * <p>Without any, the key is the header {@code Idempotency-Key} of the request that is being
   * answered, so only controllers can leave it out.
   */
  String[] key() default {};

  /**
   * What is asked for, by the same rules: the same key with another content of it is refused with
   * {@code PH-HTP-03}. Without it the key alone decides; for one from the header, method, path and
   * query of the request and what is in its body count.
   */
  String request() default "";

  /** What the handler was once called. */
  String[] formerly() default {};

  /**
   * The logical name of what the keys are keys of. Default: the handler. With that of a type of a
   * channel, a message that the inbox has delivered to this handler is a repeat here.
   */
  String type() default "";

  /** The bean of {@link GuardTemplate}, where there are several. */
  String guard() default "";
}
