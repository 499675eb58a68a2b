package dev.pigeonhole.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.examples.demo.Report.Row;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReportTest {

  private static final Row PLAIN = new Row("plain", false, 9, 1, 0, 0, 15, 5, 0, 2);
  private static final Row LEDGER = new Row("ledger", true, 10, 0, 0, 0, 11, 1, 0, 0);

  private static Report report(long sent, long accepted, long inversions, Row... rows) {
    return new Report(
        Options.DEFAULTS,
        sent,
        accepted,
        0,
        0,
        List.of(rows),
        inversions,
        0,
        0,
        Transit.NONE,
        1.25,
        null);
  }

  private static Report relayed(long accepted, Transit transit, Row... rows) throws Exception {
    Options options = Options.parse("--transport", "rabbitmq", "--messages", "10");
    return new Report(options, 12, accepted, 0, 0, List.of(rows), 0, 0, 3, transit, 1.25, null);
  }

  @Test
  void repeatedEffectsOfAPlainHandlerAreFine() {
    Report report = report(12, 10, 0, PLAIN, LEDGER);
    assertThat(report.problems()).isEmpty();
    assertThat(report.repeats()).isEqualTo(2);
    assertThat(report.toJson())
        .startsWith("{\"ok\":true,\"store\":\"h2\",\"mode\":\"stored\",\"transport\":\"none\"")
        .contains("\"handlers\":2,\"completed\":19,\"poisoned\":1,\"held\":0,\"pending\":0")
        .contains("\"invocations\":26,\"retries\":6")
        .contains("\"doubleEffects\":0,\"repeatedEffects\":2,\"inversions\":0,\"seconds\":1.");
  }

  @Test
  void theModeIsNamedToPeopleAndMachines() throws Exception {
    Options options = Options.parse("--mode", "inline");
    Report report =
        new Report(
            options, 12, 10, 0, 0, List.of(PLAIN, LEDGER), 0, 0, 0, Transit.NONE, 1.25, null);
    assertThat(report.toJson()).contains("\"mode\":\"inline\"");
    assertThat(report.table()).contains("seconds on h2, inline\n", "its source has given it up");
    assertThat(report(12, 10, 0, PLAIN, LEDGER).table())
        .contains("seconds on h2, stored\n", "it is kept until somebody acts");
  }

  @Test
  void whatMustNotBeIsNamed() {
    Row doubled = new Row("ledger", true, 10, 0, 0, 0, 11, 1, 0, 3);
    Row lost = new Row("plain", false, 10, 0, 0, 0, 9, 0, 4, 0);
    Row pending = new Row("late", false, 8, 0, 0, 2, 8, 0, 0, 0);
    assertThat(report(10, 10, 0, doubled).problems())
        .containsExactly("3 done twice by a transactional handler");
    assertThat(report(10, 10, 0, lost).problems()).containsExactly("4 lost");
    assertThat(report(10, 10, 0, pending).problems()).containsExactly("2 pending");
    assertThat(report(10, 10, 1, LEDGER).problems()).containsExactly("1 out of order");
    assertThat(report(10, 10, 0, LEDGER).withError("not done").problems())
        .containsExactly("not done");
  }

  @Test
  void theWayThroughATransportIsTold() throws Exception {
    Report report = relayed(10, new Transit(10, 10, 10, 4), PLAIN, LEDGER);
    assertThat(report.problems()).isEmpty();
    assertThat(report.repeats()).isEqualTo(2);
    assertThat(report.toJson())
        .startsWith(
            "{\"ok\":true,\"store\":\"postgres\",\"mode\":\"stored\",\"transport\":\"rabbitmq\"")
        .contains("\"published\":10,\"confirmed\":10,\"broughtAgain\":3", "\"relayKills\":4");
    assertThat(report.table())
        .contains("10 published, 10 confirmed, 3 came again, 4 relay kills, over rabbitmq\n");
    assertThat(report(12, 10, 0, PLAIN, LEDGER).table()).doesNotContain("published");
  }

  @Test
  void whatIsLeftOnTheWayFailsTheRun() throws Exception {
    Report unplaced = relayed(10, new Transit(9, 10, 10, 0), LEDGER);
    assertThat(unplaced.problems()).containsExactly("9 orders placed, but 10 published");
    Report unconfirmed = relayed(10, new Transit(10, 10, 8, 0), LEDGER);
    assertThat(unconfirmed.problems()).containsExactly("10 published, but 8 confirmed");
    Report underWay = relayed(10, new Transit(11, 11, 11, 0), LEDGER);
    assertThat(underWay.problems()).containsExactly("11 published, but 10 accepted");
    assertThat(underWay.repeats()).isEqualTo(1);
  }

  @Test
  void numbersThatDoNotAddUpFailTheRun() {
    assertThat(report(10, 11, 0, LEDGER).problems())
        .containsExactly(
            "more messages are stored than were sent",
            "11 messages for 1 handlers make 11 deliveries, but there are 10");
  }

  @Test
  void anErrorIsQuotedForJson() {
    assertThat(Report.failed(Options.DEFAULTS, "a \"b\"\n\\c").toJson())
        .startsWith("{\"ok\":false")
        .endsWith("\"perHandler\":[],\"error\":\"a \\\"b\\\"\\u000a\\\\c\"}");
  }
}
