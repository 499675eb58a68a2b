package dev.pigeonhole.webhook;

import dev.pigeonhole.ErrorCode;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Finds texts that are members of a JSON object itself, and reads over all the rest. It is strict,
 * as RFC 8259 is, for two readers that understand a message differently are a way to cheat one of
 * them: one of the wanted names that is there twice is refused, too. What is no text counts as not
 * there.
 */
final class JsonTexts {
  private static final int DEEPEST = 200;

  private final String json;
  private int at;

  private JsonTexts(String json) {
    this.json = json;
  }

  /** Whether it means to be one, as its first sign tells. */
  static boolean isObject(byte[] json) {
    for (byte each : json) {
      if (each != ' ' && each != '\t' && each != '\n' && each != '\r') {
        return each == '{';
      }
    }
    return false;
  }

  /**
   * The texts by name.
   *
   * @throws RefusedException with 400 if it is no JSON object in UTF-8
   */
  static Map<String, String> read(byte[] json, Set<String> names) throws RefusedException {
    String text;
    try {
      text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(json)).toString();
    } catch (CharacterCodingException e) {
      throw broken();
    }
    return new JsonTexts(text).object(names);
  }

  private Map<String, String> object(Set<String> names) throws RefusedException {
    Map<String, String> found = new HashMap<>();
    Set<String> open = new HashSet<>(names);
    blanks();
    take('{');
    blanks();
    boolean more = peek() != '}';
    while (more) {
      blanks();
      String name = text();
      blanks();
      take(':');
      blanks();
      boolean wanted = names.contains(name);
      if (wanted && !open.remove(name)) {
        throw broken();
      }
      if (wanted && peek() == '"') {
        found.put(name, text());
      } else {
        skip(1);
      }
      blanks();
      more = peek() == ',';
      if (more) {
        at++;
      }
    }
    take('}');
    blanks();
    if (at < json.length()) {
      throw broken();
    }
    return found;
  }

  private void skip(int depth) throws RefusedException {
    switch (peek()) {
      case '"' -> text();
      case '{' -> inside('}', depth + 1, true);
      case '[' -> inside(']', depth + 1, false);
      case 't' -> word("true");
      case 'f' -> word("false");
      case 'n' -> word("null");
      default -> number();
    }
  }

  private void inside(char end, int depth, boolean named) throws RefusedException {
    if (depth > DEEPEST) {
      throw new RefusedException(
          400, ErrorCode.PAYLOAD_OVER_LIMITS, "The body is nested too deeply");
    }
    at++;
    blanks();
    if (peek() == end) {
      at++;
      return;
    }
    while (true) {
      blanks();
      if (named) {
        text();
        blanks();
        take(':');
        blanks();
      }
      skip(depth);
      blanks();
      if (peek() != ',') {
        take(end);
        return;
      }
      at++;
    }
  }

  private String text() throws RefusedException {
    take('"');
    StringBuilder text = new StringBuilder();
    while (true) {
      char c = peek();
      at++;
      if (c == '"') {
        return text.toString();
      }
      if (c < ' ') {
        throw broken();
      }
      text.append(c == '\\' ? escaped() : c);
    }
  }

  private char escaped() throws RefusedException {
    char c = peek();
    at++;
    return switch (c) {
      case '"', '\\', '/' -> c;
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'u' -> unicode();
      default -> throw broken();
    };
  }

  private char unicode() throws RefusedException {
    int value = 0;
    for (int i = 0; i < 4; i++) {
      char c = peek();
      int digit = c < 128 ? Character.digit(c, 16) : -1;
      if (digit < 0) {
        throw broken();
      }
      value = 16 * value + digit;
      at++;
    }
    return (char) value;
  }

  private void number() throws RefusedException {
    if (peek() == '-') {
      at++;
    }
    if (peek() == '0') {
      at++;
    } else {
      digits();
    }
    if (at < json.length() && json.charAt(at) == '.') {
      at++;
      digits();
    }
    if (at < json.length() && (json.charAt(at) == 'e' || json.charAt(at) == 'E')) {
      at++;
      if (peek() == '+' || peek() == '-') {
        at++;
      }
      digits();
    }
  }

  private void digits() throws RefusedException {
    int start = at;
    while (at < json.length() && json.charAt(at) >= '0' && json.charAt(at) <= '9') {
      at++;
    }
    if (at == start) {
      throw broken();
    }
  }

  private void word(String word) throws RefusedException {
    if (!json.startsWith(word, at)) {
      throw broken();
    }
    at += word.length();
  }

  private void blanks() {
    while (at < json.length() && " \t\n\r".indexOf(json.charAt(at)) >= 0) {
      at++;
    }
  }

  private char peek() throws RefusedException {
    if (at >= json.length()) {
      throw broken();
    }
    return json.charAt(at);
  }

  private void take(char wanted) throws RefusedException {
    if (peek() != wanted) {
      throw broken();
    }
    at++;
  }

  private static RefusedException broken() {
    return new RefusedException(
        400,
        ErrorCode.PAYLOAD_UNDECODABLE,
        "The body is no JSON object, or names its id or type twice");
  }
}
