/** A service that takes orders, with Spring Boot: one dependency and a few annotations. */
@NullMarked
package dev.pigeonhole.examples.orders.spring;

import org.jspecify.annotations.NullMarked;
