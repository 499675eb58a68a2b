/** JobRunr: background jobs, each a row that goes through states. */
@NullMarked
package dev.pigeonhole.benchmarks.peers.jobrunr;

import org.jspecify.annotations.NullMarked;
