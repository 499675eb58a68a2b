/** The contracts that a store or a source proves itself against. */
@NullMarked
package dev.pigeonhole.tck;

import org.jspecify.annotations.NullMarked;
