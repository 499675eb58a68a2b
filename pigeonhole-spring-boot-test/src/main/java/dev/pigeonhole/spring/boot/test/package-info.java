/** Tests of Spring Boot applications: a slice with handlers, and a real inbox without threads. */
@NullMarked
package dev.pigeonhole.spring.boot.test;

import org.jspecify.annotations.NullMarked;
