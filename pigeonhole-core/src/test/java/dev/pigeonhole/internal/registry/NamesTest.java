package dev.pigeonhole.internal.registry;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NamesTest {

  @ParameterizedTest
  @ValueSource(strings = {"a", "reserve-stock", "Shop.Orders:v2_x", "0"})
  void ordinaryNamesAreValid(String name) {
    assertThat(Names.valid(name)).isTrue();
    assertThat(Names.valid(name.repeat(200).substring(0, 200))).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "a b", "a/b", "é", "a\n", "a\0", "😀", "a'--"})
  void otherNamesAreNot(String name) {
    assertThat(Names.valid(name)).isFalse();
    assertThat(Names.valid("a".repeat(201))).isFalse();
  }

  @Test
  void textIsWhatPeopleCanReadAndDatabasesCanKeep() {
    assertThat(Names.isText("é 😀".repeat(10), 30)).isTrue();
    assertThat(Names.isText("é 😀".repeat(10), 29)).isFalse();
    for (String bad : List.of("", " \t", "a\n", "a\0", "\u009f", "\uD800", "\uDE00\uD83D")) {
      assertThat(Names.isText(bad, 30)).as(Names.shown(bad)).isFalse();
    }
    assertThat(Names.badCharacter("a😀\uD83Db")).isEqualTo(3);
    assertThat(Names.badCharacter("a😀")).isEqualTo(-1);
  }

  @Test
  void sc16_aValueFromOutsideIsShownOnOneLineAndCut() {
    assertThat(Names.shown("a\r\nb\0\u001b[31m")).isEqualTo("a\\u000D\\u000Ab\\u0000\\u001B[31m");
    assertThat(Names.shown("\u202egnp.exe\u2028\u2029")).isEqualTo("\\u202Egnp.exe\\u2028\\u2029");
    assertThat(Names.shown("\uD800")).isEqualTo("\\uD800");
    assertThat(Names.shown("${jndi:ldap://x}")).isEqualTo("${jndi:ldap://x}");
    assertThat(Names.shown("😀".repeat(64))).isEqualTo("😀".repeat(64));
    assertThat(Names.shown("😀".repeat(65))).isEqualTo("😀".repeat(64) + "…");
    assertThat(Names.shown("")).isEmpty();
  }
}
