/** Requests that are run once for each idempotency key, under any HTTP server. */
@NullMarked
package dev.pigeonhole.http;

import org.jspecify.annotations.NullMarked;
