package dev.pigeonhole.spring;

/** What the handlers of these tests are told. */
public record OrderPlaced(String order, String customer) {}
