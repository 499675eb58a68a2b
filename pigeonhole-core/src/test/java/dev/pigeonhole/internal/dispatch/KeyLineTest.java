package dev.pigeonhole.internal.dispatch;

import static dev.pigeonhole.internal.dispatch.Rows.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.internal.dispatch.KeyLine.Member;
import org.junit.jupiter.api.Test;

class KeyLineTest {
  private final KeyLine line = new KeyLine();

  private void add(long seq, boolean runnable) {
    line.members.put(seq, new Member(row(seq), runnable));
  }

  @Test
  void onlyTheHeadMayRunWhateverCameFirst() {
    add(3, true);
    add(1, true);
    add(2, true);

    assertThat(line.next()).isEqualTo(row(1));
    line.running = 1L;
    assertThat(line.next()).as("the head has not been settled").isNull();
    line.members.remove(1L);
    line.running = null;
    assertThat(line.next()).isEqualTo(row(2));
  }

  @Test
  void aHeadThatWaitsKeepsTheKeyClosed() {
    add(1, false);
    assertThat(line.waitsForHead()).as("nobody waits behind it").isFalse();
    add(2, true);

    assertThat(line.next()).isNull();
    assertThat(line.waitsForHead()).isTrue();
    add(1, true);
    assertThat(line.next()).isEqualTo(row(1));
    assertThat(line.waitsForHead()).isFalse();
  }

  @Test
  void anEmptyLineHasNobody() {
    assertThat(line.next()).isNull();
    assertThat(line.waitsForHead()).isFalse();
  }
}
