/** Reads messages from CloudEvents and writes them as such. */
@NullMarked
package dev.pigeonhole.cloudevents;

import org.jspecify.annotations.NullMarked;
