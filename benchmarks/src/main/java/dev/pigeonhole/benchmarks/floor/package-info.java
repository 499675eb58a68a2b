/**
 * The floor: the durable work of an inbox as bare JDBC loops over its tables, without a line of the
 * library. Nothing that keeps the same promises with these tables can be faster by much.
 */
@NullMarked
package dev.pigeonhole.benchmarks.floor;

import org.jspecify.annotations.NullMarked;
