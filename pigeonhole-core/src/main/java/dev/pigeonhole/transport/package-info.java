/** How messages come in and go out, whatever carries them. */
@NullMarked
package dev.pigeonhole.transport;

import org.jspecify.annotations.NullMarked;
