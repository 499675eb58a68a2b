/** One idea per runnable main. */
@NullMarked
package dev.pigeonhole.examples;

import org.jspecify.annotations.NullMarked;
