/** Pigeonhole itself, used as an application uses it: through its public API. */
@NullMarked
package dev.pigeonhole.benchmarks.pigeonhole;

import org.jspecify.annotations.NullMarked;
