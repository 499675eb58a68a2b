/** The seam for payload formats. */
@NullMarked
package dev.pigeonhole.codec;

import org.jspecify.annotations.NullMarked;
