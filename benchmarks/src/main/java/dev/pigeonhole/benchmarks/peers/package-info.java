/**
 * What the adapters of the peers share: offering messages, counting handler calls, asking tables.
 * The adapters themselves live in modules of their own, each with its own class path; this package
 * therefore needs nothing but the JDK.
 */
@NullMarked
package dev.pigeonhole.benchmarks.peers;

import org.jspecify.annotations.NullMarked;
