package dev.pigeonhole.store;

/** What an operator has put in the place of a message's content, for one handler. */
public record EditedContent(byte[] content, byte[] contentHash) {}
