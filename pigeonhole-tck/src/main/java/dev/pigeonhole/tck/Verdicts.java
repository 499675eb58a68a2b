package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.PoisonException;
import dev.pigeonhole.transport.Sent;
import java.util.List;

/** What a transport said of several envelopes, when one of them was special. */
record Verdicts(List<Sent> outcomes) {

  static Verdicts of(List<Sent> outcomes) {
    return new Verdicts(outcomes);
  }

  /** All but one went out; answers that one. */
  Special areConfirmedBut(int index) {
    for (int i = 0; i < outcomes.size(); i++) {
      if (i != index) {
        assertThat(outcomes.get(i)).as("outcome %d", i).isInstanceOf(Sent.Confirmed.class);
      }
    }
    return new Special(outcomes.get(index));
  }

  record Special(Sent outcome) {

    /** No attempt will ever send it, with this code. */
    void isOver(String code) {
      assertThat(outcome).isInstanceOf(Sent.Failed.class);
      assertThat(((Sent.Failed) outcome).cause())
          .isInstanceOf(PoisonException.class)
          .hasMessageStartingWith(code);
    }
  }
}
