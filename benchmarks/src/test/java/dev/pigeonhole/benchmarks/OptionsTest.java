package dev.pigeonhole.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OptionsTest {

  @Test
  void nothingMeansEverythingOnPostgres() throws Exception {
    Options options = Options.parse();
    assertThat(options.quick()).isFalse();
    assertThat(options.store()).isEqualTo(Store.POSTGRES);
    assertThat(options.scenarios()).isEmpty();
    assertThat(options.peers()).hasSize(Peer.values().length).contains("jobrunr", "camel");
    assertThat(options.seed()).isEqualTo(1);
    assertThat(options.whole()).isTrue();
  }

  @Test
  void quickHasFewerPeers() throws Exception {
    Options options = Options.parse("--quick", "--json");
    assertThat(options.peers())
        .containsExactlyInAnyOrder(
            "db-scheduler",
            "transaction-outbox",
            "spring-integration",
            "eventuate",
            "seed-article",
            "seed-inbox");
    assertThat(options.json()).isTrue();
    assertThat(options.whole()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"--scenario=,", "--peers=,", "--scenario= , "})
  void aListOfNothingIsNotEverything(String option) {
    assertThatThrownBy(() -> Options.parse(option))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("needs a name");
  }

  @Test
  void whoIsNamedTwiceIsMeasuredOnce() throws Exception {
    assertThat(Options.parse("--peers", "camel,camel").peers()).containsExactly("camel");
  }

  @Test
  void aPasswordIsNotForTheCommandLine() {
    assertThatThrownBy(
            () -> Options.parse("--url", "jdbc:postgresql://db/bench?user=u&Password=secret"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("PIGEONHOLE_BENCH_PASSWORD")
        .hasMessageNotContaining("secret");
  }

  @Test
  void valuesFollowTheirNameOrAnEqualsSign() throws Exception {
    Options options =
        Options.parse(
            "--messages",
            "700",
            "--growth-rows=20",
            "--snapshot-seconds",
            "3",
            "--rounds=1",
            "--seed",
            "9",
            "--scenario=guard,payload",
            "--peers",
            "none");
    assertThat(options.messages()).isEqualTo(700);
    assertThat(options.growthRows()).isEqualTo(20);
    assertThat(options.snapshotSeconds()).isEqualTo(3);
    assertThat(options.rounds()).isEqualTo(1);
    assertThat(options.seed()).isEqualTo(9);
    assertThat(options.scenarios())
        .containsExactly("guard", "payload-200", "payload-2k", "payload-50k");
    assertThat(options.peers()).isEmpty();
  }

  @Test
  void otherStoresAreForOursAlone() throws Exception {
    assertThat(Options.parse("--store", "mariadb").peers()).isEmpty();
    assertThat(Options.parse("--url", "jdbc:mariadb://db/x").store()).isEqualTo(Store.MARIADB);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--messages 1000",
        "--rounds 1",
        "--scenario guard",
        "--peers none",
        "--store h2",
        "--url jdbc:postgresql://db/x"
      })
  void whatIsNotAllOfAPlanIsNotKept(String args) throws Exception {
    assertThat(Options.parse(args.split(" ")).whole()).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          --mesages 5            | there is no option '--mesages'               | ./bench --messages 10000
          --JSON                 | there is no option '--JSON'                  | ./bench --json
          fast                   | there is no option 'fast'                    | ./bench --help
          --quick=yes            | --quick takes no value                       | ./bench --quick
          --messages             | --messages needs a value                     | ./bench --messages 10000
          --messages many        | --messages needs a whole number, not 'many'  | ./bench --messages 10000
          --messages 5           | --messages must be between 100 and 100000000, not 5 | ./bench --messages 100
          --rounds 0             | --rounds must be between 1 and 1000, not 0   | ./bench --rounds 1
          --seed -1              | --seed must be between 0 and 2147483647, not -1 | ./bench --seed 0
          --scenario end2end     | there is no scenario 'end2end'               | ./bench --scenario end-to-end
          --scenario accept-batch,gard | there is no scenario 'gard'            | ./bench --scenario guard
          --peers dbscheduler    | there is no peer 'dbscheduler'               | ./bench --peers db-scheduler
          --store postgre        | there is no store 'postgre'; there are postgres, mariadb, h2 | ./bench --store postgres
          --store h2 --peers all | peers are measured on postgres alone         | ./bench --store h2 --peers none
          --store h2 --scenario workers-2 | the scenario 'workers-2' does not run on h2 | ./bench --scenario workers-2
          --url jdbc:oracle:x    | --url leads to a server, as jdbc:postgresql: and jdbc:mariadb: do, not 'jdbc:oracle:x' | ./bench --url jdbc:postgresql://127.0.0.1:5432/bench
          --url jdbc:mariadb://db/x --store postgres | --url leads to mariadb, not to postgres | ./bench --url jdbc:mariadb://db/x
          """)
  void wrongUsageNamesTheNearestValidForm(String args, String message, String nearest) {
    assertThatThrownBy(() -> Options.parse(args.split(" ")))
        .isInstanceOfSatisfying(
            UsageException.class,
            e -> {
              assertThat(e).hasMessage(message);
              assertThat(e.nearest()).isEqualTo(nearest);
            });
  }

  @Test
  void helpNamesEveryScenarioPeerAndOption() {
    String help = Options.HELP;
    assertThat(Options.names()).allSatisfy(name -> assertThat(help).contains("  " + name + " "));
    assertThat(Peer.names(false)).allSatisfy(name -> assertThat(help).contains(name));
    assertThat(Plan.SCENARIOS)
        .allSatisfy(name -> assertThat(help).contains(name.replaceFirst("-(\\d+k?)$", "")));
  }
}
