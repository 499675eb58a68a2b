package dev.pigeonhole.examples.orders.spring;

/** What customers send, and what handlers are given. */
public record Order(String id, String customer, long cents) {}
