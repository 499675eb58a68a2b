/** DBOS Transact: workflows on a queue, checkpointed in PostgreSQL. */
@NullMarked
package dev.pigeonhole.benchmarks.peers.dbos;

import org.jspecify.annotations.NullMarked;
