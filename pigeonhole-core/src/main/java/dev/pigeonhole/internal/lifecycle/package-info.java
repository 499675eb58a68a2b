/** Starting, driving by hand, stopping. */
@NullMarked
package dev.pigeonhole.internal.lifecycle;

import org.jspecify.annotations.NullMarked;
