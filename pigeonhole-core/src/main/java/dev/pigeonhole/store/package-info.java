/** The seam for stores: what the engine asks of a database, and what each answer must mean. */
@NullMarked
package dev.pigeonhole.store;

import org.jspecify.annotations.NullMarked;
