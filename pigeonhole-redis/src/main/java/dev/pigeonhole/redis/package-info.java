/** Leases and receipts in Redis. */
@NullMarked
package dev.pigeonhole.redis;

import org.jspecify.annotations.NullMarked;
