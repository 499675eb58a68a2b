package dev.pigeonhole.spring.boot.test;

import org.springframework.boot.test.autoconfigure.TestSliceTestContextBootstrapper;

/** Reads {@link InboxTest#properties}. */
final class InboxTestContextBootstrapper extends TestSliceTestContextBootstrapper<InboxTest> {}
