/**
 * What bare SQL and Pigeonhole share: messages that know their number, the tables of an inbox, and
 * threads that work together.
 */
@NullMarked
package dev.pigeonhole.benchmarks.inbox;

import org.jspecify.annotations.NullMarked;
