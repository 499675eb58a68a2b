/** Reads and writes payloads as JSON. */
@NullMarked
package dev.pigeonhole.jackson;

import org.jspecify.annotations.NullMarked;
