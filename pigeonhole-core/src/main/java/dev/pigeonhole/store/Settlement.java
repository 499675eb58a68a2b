package dev.pigeonhole.store;

/** A delivery as it was read, and how its attempt ended. */
public record Settlement(Delivery delivery, Outcome outcome) {}
