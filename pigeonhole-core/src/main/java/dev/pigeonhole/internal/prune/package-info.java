/** Retention: forgets what everybody has finished with, when asked to. */
@NullMarked
package dev.pigeonhole.internal.prune;

import org.jspecify.annotations.NullMarked;
