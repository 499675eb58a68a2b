/** Reading, running and settling deliveries, and grouping accepts. */
@NullMarked
package dev.pigeonhole.internal.dispatch;

import org.jspecify.annotations.NullMarked;
