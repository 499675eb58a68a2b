package dev.pigeonhole.micrometer;

/** What the inboxes and outboxes of these tests carry. */
record OrderPlaced(String id) {}
