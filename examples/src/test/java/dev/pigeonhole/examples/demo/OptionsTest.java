package dev.pigeonhole.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.examples.demo.Options.Mode;
import dev.pigeonhole.examples.demo.Options.StoreKind;
import dev.pigeonhole.examples.demo.Options.TransportKind;
import dev.pigeonhole.examples.demo.Options.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OptionsTest {

  @Test
  void nothingMeansTheDefaults() throws Exception {
    assertThat(Options.parse()).isEqualTo(Options.DEFAULTS);
  }

  @Test
  void valuesFollowTheirNameOrAnEqualsSign() throws Exception {
    Options options =
        Options.parse(
            "--messages", "7", "--store=mariadb", "--mode", "inline", "--seed", "-3", "--json");
    assertThat(options.messages()).isEqualTo(7);
    assertThat(options.store()).isEqualTo(StoreKind.MARIADB);
    assertThat(options.mode()).isEqualTo(Mode.INLINE);
    assertThat(options.seed()).isEqualTo(-3);
    assertThat(options.json()).isTrue();
  }

  @Test
  void aTransportBringsAStoreThatProcessesShareAndKillsOfItsRelays() throws Exception {
    Options options = Options.parse("--transport", "rabbitmq");
    assertThat(options.transport()).isEqualTo(TransportKind.RABBITMQ);
    assertThat(options.store()).isEqualTo(StoreKind.POSTGRES);
    assertThat(options.relayKills()).isEqualTo(10);
    assertThat(Options.parse("--transport=kafka", "--store=mariadb").store())
        .isEqualTo(StoreKind.MARIADB);
    assertThat(Options.parse("--transport=kafka", "--messages=300").relayKills()).isEqualTo(3);
    assertThat(Options.parse("--transport=kafka", "--messages=3").relayKills()).isEqualTo(1);
    assertThat(Options.parse("--transport=kafka", "--relay-kills=0").relayKills()).isZero();
    assertThat(Options.parse("--transport=none")).isEqualTo(Options.DEFAULTS);
  }

  @Test
  void aWorkerReadsTheRunThatItWasStartedFor() throws Exception {
    Options options =
        Options.parse("--store=postgres", "--mode=inline", "--workers=3", "--kill=2", "--seed=9");
    assertThat(Options.parse(options.toArguments().toArray(String[]::new))).isEqualTo(options);
    Options relayed = Options.parse("--transport=kafka", "--relay-kills=7");
    assertThat(Options.parse(relayed.toArguments().toArray(String[]::new))).isEqualTo(relayed);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          --mesages 5            | there is no option '--mesages'               | ./demo --messages 5
          --mesages --json       | there is no option '--mesages'               | ./demo --messages 10000
          --JSON                 | there is no option '--JSON'                  | ./demo --json
          -h                     | there is no option '-h'                      | ./demo --help
          orders                 | there is no option 'orders'                  | ./demo --help
          --jsn                  | there is no option '--jsn'                   | ./demo --json
          messages               | there is no option 'messages'                | ./demo --messages 10000
          --json=yes             | --json takes no value                        | ./demo --json
          --messages             | --messages needs a value                     | ./demo --messages 10000
          --messages --json      | --messages needs a value                     | ./demo --messages 10000
          --messages many        | --messages needs a whole number, not 'many'  | ./demo --messages 10000
          --messages 0           | --messages must be between 1 and 10000000, not 0 | ./demo --messages 1
          --fail 101             | --fail must be between 0 and 100, not 101    | ./demo --fail 100
          --repeats -1           | --repeats must be between 0 and 100, not -1  | ./demo --repeats 0
          --workers 99 --store postgres | --workers must be between 1 and 16, not 99 | ./demo --workers 16
          --store postgre        | there is no store 'postgre'; there are h2, postgres, mariadb | ./demo --store postgres
          --store MariaDB        | there is no store 'MariaDB'; there are h2, postgres, mariadb | ./demo --store mariadb
          --mode onlin           | there is no mode 'onlin'; there are stored, inline | ./demo --mode inline
          --mode Stored          | there is no mode 'Stored'; there are stored, inline | ./demo --mode stored
          --mode                 | --mode needs a value                         | ./demo --mode stored
          --mod inline           | there is no option '--mod'                   | ./demo --mode stored
          --transport rabbit     | there is no transport 'rabbit'; there are none, rabbitmq, kafka | ./demo --transport rabbitmq
          --transport Kafka      | there is no transport 'Kafka'; there are none, rabbitmq, kafka | ./demo --transport kafka
          --transport            | --transport needs a value                    | ./demo --transport none
          --transprt kafka       | there is no option '--transprt'              | ./demo --transport none
          --relay-kill 3         | there is no option '--relay-kill'            | ./demo --transport rabbitmq --relay-kills 3
          --relay-kills many     | --relay-kills needs a whole number, not 'many' | ./demo --transport rabbitmq --relay-kills 10
          --relay-kills -1 --transport kafka | --relay-kills must be between 0 and 1000, not -1 | ./demo --transport rabbitmq --relay-kills 0
          --relay-kills 3        | --relay-kills 3 needs a transport: without one there is no relay | ./demo --transport rabbitmq --relay-kills 3
          --store h2 --transport kafka | --transport kafka needs a server: one process holds the file of H2 | ./demo --store postgres --transport kafka
          --mode inline --transport kafka | --mode inline needs --transport none: only there the demo sees what is brought again | ./demo --mode stored --transport kafka
          --workers 2            | --workers 2 needs a server: one process holds the file of H2 | ./demo --store postgres --workers 2
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
}
