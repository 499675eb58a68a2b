package dev.pigeonhole.benchmarks;

import java.util.Collection;
import java.util.Locale;
import java.util.OptionalDouble;

/** The middle of some numbers, and how people read them. */
final class Numbers {

  private Numbers() {}

  static OptionalDouble median(Collection<Double> numbers) {
    double[] sorted = numbers.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    if (sorted.length == 0) {
      return OptionalDouble.empty();
    }
    int middle = sorted.length / 2;
    return OptionalDouble.of(
        sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2);
  }

  /** With as many places as tell something. */
  static String text(double number) {
    double size = Math.abs(number);
    String format = size >= 100 ? "%,.0f" : size >= 10 ? "%.1f" : size >= 0.1 ? "%.2f" : "%.4f";
    return size == 0 ? "0" : String.format(Locale.ROOT, format, number);
  }

  static String text(OptionalDouble number) {
    return number.isPresent() ? text(number.getAsDouble()) : "–";
  }

  /** For example {@code 6:05}. */
  static String clock(double seconds) {
    long whole = Math.round(seconds);
    return String.format(Locale.ROOT, "%d:%02d", whole / 60, whole % 60);
  }
}
