/** The contract that a store proves itself against. */
@NullMarked
package dev.pigeonhole.tck;

import org.jspecify.annotations.NullMarked;
