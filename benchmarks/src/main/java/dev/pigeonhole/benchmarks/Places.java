package dev.pigeonhole.benchmarks;

import java.nio.file.Path;

/** Where things lie in the checkout. */
record Places(Path root) {

  Path peer(String name) {
    return root.resolve("benchmarks/peers").resolve(name).resolve("target");
  }

  /** Our own classes, among them those that a peer is driven with. */
  Path classes() {
    return root.resolve("benchmarks/target/classes");
  }

  Path logs() {
    return root.resolve("benchmarks/target/bench");
  }

  /** Results of a whole run are kept with the sources, those of a part are not. */
  Path results(Options options) {
    return root.resolve(options.whole() ? "benchmarks/results" : "benchmarks/target/results");
  }
}
