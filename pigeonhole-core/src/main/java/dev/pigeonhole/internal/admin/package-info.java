/** Administration over a store: choosing, seeing, and changing one or many. */
@NullMarked
package dev.pigeonhole.internal.admin;

import org.jspecify.annotations.NullMarked;
