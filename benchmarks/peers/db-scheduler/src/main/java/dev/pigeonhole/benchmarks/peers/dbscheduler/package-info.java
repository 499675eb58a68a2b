/** db-scheduler: one-time tasks in one table, deleted when done. */
@NullMarked
package dev.pigeonhole.benchmarks.peers.dbscheduler;

import org.jspecify.annotations.NullMarked;
