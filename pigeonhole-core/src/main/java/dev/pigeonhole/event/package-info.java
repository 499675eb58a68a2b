/** What happens in an inbox, as records; metrics, tracing, alerts and tests listen here. */
@NullMarked
package dev.pigeonhole.event;

import org.jspecify.annotations.NullMarked;
