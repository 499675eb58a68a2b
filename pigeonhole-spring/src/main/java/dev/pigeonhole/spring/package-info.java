/** Annotated handlers, guarded methods, and the transactions of Spring. */
@NullMarked
package dev.pigeonhole.spring;

import org.jspecify.annotations.NullMarked;
