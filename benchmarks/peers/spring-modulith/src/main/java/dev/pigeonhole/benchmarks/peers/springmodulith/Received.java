package dev.pigeonhole.benchmarks.peers.springmodulith;

/** The event of a message. */
public record Received(String id, String payload) {}
