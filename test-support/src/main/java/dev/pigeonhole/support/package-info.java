/**
 * Real servers, real processes and real faults for the tests of Pigeonhole. Nothing in here knows
 * the library, so a checker built on it cannot inherit the library's mistakes.
 */
@NullMarked
package dev.pigeonhole.support;

import org.jspecify.annotations.NullMarked;
