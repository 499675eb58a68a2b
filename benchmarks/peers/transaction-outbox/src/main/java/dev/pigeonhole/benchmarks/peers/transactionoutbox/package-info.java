/** transaction-outbox by gruelbox: method calls kept in a table, run after the commit. */
@NullMarked
package dev.pigeonhole.benchmarks.peers.transactionoutbox;

import org.jspecify.annotations.NullMarked;
