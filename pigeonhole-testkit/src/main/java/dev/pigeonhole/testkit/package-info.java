/** Lets an application test its handlers without threads, waiting or a database. */
@NullMarked
package dev.pigeonhole.testkit;

import org.jspecify.annotations.NullMarked;
