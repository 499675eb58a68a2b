/** Messages from HTTP requests that prove who sent them, and signed requests to others. */
@NullMarked
package dev.pigeonhole.webhook;

import org.jspecify.annotations.NullMarked;
