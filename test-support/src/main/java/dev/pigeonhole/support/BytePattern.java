package dev.pigeonhole.support;

import java.util.Arrays;

/** Finds the n-th occurrence of some bytes in a stream that arrives in pieces. */
final class BytePattern {

  private final byte[] pattern;
  private int occurrencesLeft;
  private int matched;

  BytePattern(byte[] pattern, int nth) {
    if (pattern.length == 0 || nth < 1) {
      throw new IllegalArgumentException("Need at least one byte and one occurrence");
    }
    this.pattern = pattern.clone();
    this.occurrencesLeft = nth;
  }

  /** How many of the bytes reach to the end of the n-th occurrence, or -1 if it is not there. */
  int endIn(byte[] bytes, int length) {
    for (int i = 0; i < length; i++) {
      while (matched > 0 && pattern[matched] != bytes[i]) {
        matched = fallback(matched);
      }
      if (pattern[matched] == bytes[i]) {
        matched++;
      }
      if (matched == pattern.length) {
        matched = 0;
        if (--occurrencesLeft == 0) {
          return i + 1;
        }
      }
    }
    return -1;
  }

  /** The longest shorter beginning of the pattern that is also the end of what has matched. */
  private int fallback(int length) {
    for (int shorter = length - 1; shorter > 0; shorter--) {
      if (Arrays.equals(pattern, 0, shorter, pattern, length - shorter, length)) {
        return shorter;
      }
    }
    return 0;
  }
}
