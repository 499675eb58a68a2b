/** What an operator sees and does; consoles, command lines and health checks stand on it. */
@NullMarked
package dev.pigeonhole.admin;

import org.jspecify.annotations.NullMarked;
