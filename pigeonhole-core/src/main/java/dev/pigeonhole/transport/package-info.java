/** What a source of messages must do to feed an inbox. */
@NullMarked
package dev.pigeonhole.transport;

import org.jspecify.annotations.NullMarked;
