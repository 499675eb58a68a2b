/** Keeps an inbox in a relational database. */
@NullMarked
package dev.pigeonhole.jdbc;

import org.jspecify.annotations.NullMarked;
