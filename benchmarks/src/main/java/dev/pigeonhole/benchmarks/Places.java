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

  /** Results of a whole run that went well are kept with the sources, others are not. */
  Path results(Options options, boolean ok) {
    boolean keep = options.whole() && ok;
    return root.resolve(keep ? "benchmarks/results" : "benchmarks/target/results");
  }
}
