package dev.pigeonhole.kafka;

import java.util.regex.Pattern;

/** Texts that others had a hand in, made safe for one line of a log or of a message to people. */
final class OneLine {
  private static final Pattern CONTROL = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]+");
  private static final int LONGEST = 1_000;

  private OneLine() {}

  static String of(String text) {
    String line = CONTROL.matcher(text).replaceAll(" ");
    return line.length() > LONGEST ? line.substring(0, LONGEST) + "…" : line;
  }
}
