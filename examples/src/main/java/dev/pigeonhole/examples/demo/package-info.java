/** The main job, run and counted: orders to four handlers while worker processes are killed. */
@NullMarked
package dev.pigeonhole.examples.demo;

import org.jspecify.annotations.NullMarked;
