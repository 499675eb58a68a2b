/** The words a user of an inbox types: what arrives, who handles it, and how it runs. */
@NullMarked
package dev.pigeonhole;

import org.jspecify.annotations.NullMarked;
