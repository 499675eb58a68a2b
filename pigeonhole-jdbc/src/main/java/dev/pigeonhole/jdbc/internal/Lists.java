package dev.pigeonhole.jdbc.internal;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/** Small helpers for lists of rows. */
final class Lists {

  private Lists() {}

  /** Consecutive parts of at most this size. */
  static <T> List<List<T>> chunks(List<T> all, int size) {
    List<List<T>> chunks = new ArrayList<>();
    int step = Math.min(size, Math.max(1, all.size()));
    for (int from = 0; from < all.size(); from += step) {
      chunks.add(all.subList(from, Math.min(all.size(), from + step)));
    }
    return chunks;
  }

  /** Numbers as they stand in SQL between the parentheses of IN. */
  static String numbers(Collection<? extends Number> numbers) {
    return numbers.stream().map(String::valueOf).collect(Collectors.joining(", "));
  }
}
