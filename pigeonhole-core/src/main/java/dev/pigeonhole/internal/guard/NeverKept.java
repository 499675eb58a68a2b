package dev.pigeonhole.internal.guard;

/** Marks exceptions that only roll a run back: whatever failures a guard keeps, these are none. */
public interface NeverKept {}
