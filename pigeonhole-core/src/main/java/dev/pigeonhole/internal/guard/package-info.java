/** Running now, once for each key. */
@NullMarked
package dev.pigeonhole.internal.guard;

import org.jspecify.annotations.NullMarked;
