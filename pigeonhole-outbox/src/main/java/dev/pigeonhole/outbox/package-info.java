/** Messages out, staged in the transaction of whoever publishes them. */
@NullMarked
package dev.pigeonhole.outbox;

import org.jspecify.annotations.NullMarked;
