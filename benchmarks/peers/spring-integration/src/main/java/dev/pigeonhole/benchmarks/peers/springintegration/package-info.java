/** Spring Integration: the JDBC metadata store as memory, the JDBC channel store as queue. */
@NullMarked
package dev.pigeonhole.benchmarks.peers.springintegration;

import org.jspecify.annotations.NullMarked;
