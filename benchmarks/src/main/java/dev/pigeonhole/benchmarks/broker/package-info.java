/**
 * What raw clients and Pigeonhole share where messages come from a broker: a queue or a topic that
 * holds all of them before the run begins.
 */
@NullMarked
package dev.pigeonhole.benchmarks.broker;

import org.jspecify.annotations.NullMarked;
