package dev.pigeonhole.examples;

// snippet:payload
/** The payload of all examples. */
public record OrderPlaced(String order, String customer, long cents) {}
// end
