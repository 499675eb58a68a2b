package dev.pigeonhole.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A parameter of an {@link InboxHandler} that is one header of the message, as it was set. A
 * message without it, or with one of another class, fails the attempt; unless the parameter is an
 * {@link java.util.Optional}, which is then empty, or {@link #required} is false, which gives null.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.PARAMETER)
public @interface InboxHeader {

  /** The name of the header. */
  String value();

  /** Whether a message without it fails the attempt. */
  boolean required() default true;
}
