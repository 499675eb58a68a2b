/** Apache Camel: a route behind an idempotent consumer. */
@NullMarked
package dev.pigeonhole.benchmarks.peers.camel;

import org.jspecify.annotations.NullMarked;
