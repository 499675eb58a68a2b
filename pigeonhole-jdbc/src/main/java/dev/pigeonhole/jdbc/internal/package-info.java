/** Statements, tables and dialects of the JDBC store. Not for use outside this module. */
@NullMarked
package dev.pigeonhole.jdbc.internal;

import org.jspecify.annotations.NullMarked;
