/** Beats, shares of cells, and taking over what a dead node left. */
@NullMarked
package dev.pigeonhole.internal.rescue;

import org.jspecify.annotations.NullMarked;
