package dev.pigeonhole.outbox;

record OrderPlaced(String order, String customer) {}
