package dev.pigeonhole.store;

import java.util.List;

/**
 * What a store says about itself, for the log of a start. It never holds an address with a password
 * in it.
 *
 * @param what the product with its version, and where in it the inbox lives
 * @param unsafe what was chosen that production should not have, one sentence each
 */
public record StoreDescription(String what, List<String> unsafe) {

  public StoreDescription {
    unsafe = List.copyOf(unsafe);
  }
}
