/** What the load rig and those it measures know of each other: the JDK, a pool and a driver. */
@NullMarked
package dev.pigeonhole.benchmarks.subject;

import org.jspecify.annotations.NullMarked;
