/** Compares the modules and packages with docs/architecture.md. */
package dev.pigeonhole.architecture;
