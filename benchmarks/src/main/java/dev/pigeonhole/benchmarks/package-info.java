/**
 * The load rig behind {@code ./bench}: what is measured, in which order, and what is told of it.
 */
@NullMarked
package dev.pigeonhole.benchmarks;

import org.jspecify.annotations.NullMarked;
