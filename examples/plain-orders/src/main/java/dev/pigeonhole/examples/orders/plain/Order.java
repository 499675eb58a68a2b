package dev.pigeonhole.examples.orders.plain;

/** What customers send, and what handlers are given. */
record Order(String id, String customer, long cents) {}
