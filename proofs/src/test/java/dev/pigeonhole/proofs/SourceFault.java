package dev.pigeonhole.proofs;

/**
 * Something that goes wrong between a broker and a database.
 *
 * @param strike lets it happen, and returns when it is over; fails unless it saw that it hit
 */
record SourceFault(String name, Strike strike) {

  interface Strike {
    void run() throws Exception;
  }
}
