/** Spring Modulith: the event publication registry. */
@NullMarked
package dev.pigeonhole.benchmarks.peers.springmodulith;

import org.jspecify.annotations.NullMarked;
