/**
 * The two inboxes that Pigeonhole grew out of, written down as they were described: the loop of an
 * article, and that of a library for another platform. Each is given what it can use.
 */
@NullMarked
package dev.pigeonhole.benchmarks.seeds;

import org.jspecify.annotations.NullMarked;
