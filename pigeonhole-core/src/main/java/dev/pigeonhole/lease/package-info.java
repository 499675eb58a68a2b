/**
 * Effectively once: a guard for stores that cannot join the handler's transaction, and what such a
 * store must do.
 */
@NullMarked
package dev.pigeonhole.lease;

import org.jspecify.annotations.NullMarked;
