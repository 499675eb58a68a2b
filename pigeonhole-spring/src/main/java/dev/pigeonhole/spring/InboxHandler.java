package dev.pigeonhole.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;

/**
 * Makes a method of a bean a handler of a channel.
 *
 * <pre>{@code
 * @InboxHandler(channel = "orders", key = "reserve-stock", formerly = "stock-handler")
 * @Transactional
 * void reserve(OrderPlaced order) { … }
 * }</pre>
 *
 * <p>One parameter is the payload, and its class says which messages the method takes. Beside it,
 * or instead of it, stand {@link dev.pigeonhole.Received}, {@link
 * dev.pigeonhole.HandlerTransaction}, {@link java.sql.Connection}, {@link dev.pigeonhole.Headers},
 * and single headers with {@link InboxHeader}, in any order. It returns nothing and may throw
 * whatever it likes.
 *
 * <p>A method that is {@code @Transactional}, or that takes a transaction or a connection, runs
 * inside a transaction of Spring together with its receipt: what it writes happens exactly once.
 * Any other is called at least once, and has to bear repeats.
 *
 * <p>The bean is declared with its class, for inboxes are built before it is there. It is called as
 * others would call it, through its proxy if it has one. Mistakes refuse to start, all of them
 * together.
 */
@Documented
@Reflective(MethodReflection.class)
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface InboxHandler {

  /** The channel, which is a bean of {@link dev.pigeonhole.ChannelBuilder}. */
  String channel();

  /** The stable name that is stored with every delivery; unique in the application. */
  String key();

  /** What the handler was once called: deliveries stored under those names are still its own. */
  String[] formerly() default {};

  /** As {@link dev.pigeonhole.HandlerOption#within}: {@code 20s}, {@code 5m}, {@code PT1H}. */
  String within() default "";

  /** As {@link dev.pigeonhole.HandlerOption#atMost}; 0 leaves it to the inbox. */
  int atMost() default 0;

  /** As {@link dev.pigeonhole.HandlerOption#sharedCommits}, for one that runs in a transaction. */
  int sharedCommits() default 1;

  /** As {@link dev.pigeonhole.HandlerOption#inline}. */
  boolean inline() default false;
}
