/** Starts real databases for our own tests and examples. */
@NullMarked
package dev.pigeonhole.support;

import org.jspecify.annotations.NullMarked;
