/** Eventuate Tram: the detector of repeats that its consumers run behind. */
@NullMarked
package dev.pigeonhole.benchmarks.peers.eventuate;

import org.jspecify.annotations.NullMarked;
