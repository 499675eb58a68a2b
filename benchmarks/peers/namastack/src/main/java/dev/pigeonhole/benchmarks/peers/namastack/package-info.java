/** Namastack Outbox: records by key, polled by the owner of the key. */
@NullMarked
package dev.pigeonhole.benchmarks.peers.namastack;

import org.jspecify.annotations.NullMarked;
