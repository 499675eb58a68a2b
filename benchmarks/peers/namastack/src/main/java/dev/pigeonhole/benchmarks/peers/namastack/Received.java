package dev.pigeonhole.benchmarks.peers.namastack;

/** The payload of a record. */
public record Received(String id, String payload) {}
