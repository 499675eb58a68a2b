/** What every user of an inbox types: channels, handlers, messages, answers. */
@NullMarked
package dev.pigeonhole;

import org.jspecify.annotations.NullMarked;
