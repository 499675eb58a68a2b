package dev.pigeonhole.examples;

/** The payload of all examples. */
public record OrderPlaced(String order, String customer, long cents) {}
