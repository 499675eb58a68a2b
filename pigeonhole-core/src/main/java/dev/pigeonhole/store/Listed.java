package dev.pigeonhole.store;

/** Something in a list, and where it stands. */
public record Listed<T>(Place place, T view) {}
