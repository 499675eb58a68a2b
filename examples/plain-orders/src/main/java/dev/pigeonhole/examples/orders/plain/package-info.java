/** A service that takes orders, without a framework: the same as its twin with Spring Boot. */
@NullMarked
package dev.pigeonhole.examples.orders.plain;

import org.jspecify.annotations.NullMarked;
