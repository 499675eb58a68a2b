/** Handler keys, type names and channels: resolved and checked before anything runs. */
@NullMarked
package dev.pigeonhole.internal.registry;

import org.jspecify.annotations.NullMarked;
