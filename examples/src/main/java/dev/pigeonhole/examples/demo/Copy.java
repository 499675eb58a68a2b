package dev.pigeonhole.examples.demo;

/**
 * One copy of an order on its way to a worker.
 *
 * @param order its number
 * @param returns how often this copy has come back unfinished; a broker says so in a header
 */
record Copy(int order, int returns) {

  Copy returned() {
    return new Copy(order, returns + 1);
  }

  /** As a word on the wire. */
  String toWord() {
    return order + ":" + returns;
  }

  static Copy ofWord(String word) {
    int colon = word.indexOf(':');
    return new Copy(
        Integer.parseInt(word.substring(0, colon)), Integer.parseInt(word.substring(colon + 1)));
  }
}
