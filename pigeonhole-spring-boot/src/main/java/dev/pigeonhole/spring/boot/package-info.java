/** Auto-configuration for Spring Boot, its properties, its endpoint and its health. */
@NullMarked
package dev.pigeonhole.spring.boot;

import org.jspecify.annotations.NullMarked;
