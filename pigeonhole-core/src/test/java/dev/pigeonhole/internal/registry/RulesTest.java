package dev.pigeonhole.internal.registry;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.inline;
import static dev.pigeonhole.HandlerOption.pausingAfter;
import static dev.pigeonhole.HandlerOption.perSecond;
import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.sharedCommits;
import static dev.pigeonhole.HandlerOption.within;
import static dev.pigeonhole.Specs.type;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Idempotent;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.Specs;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullAndEmptySource;
import org.junit.jupiter.params.provider.ValueSource;

class RulesTest {
  record Order() {}

  record Payment() {}

  private static HandlerSpec handler(HandlerKey key, HandlerOption... options) {
    return Specs.plain(key, received -> {}, options);
  }

  private static HandlerSpec handler(String key, String... former) {
    return handler(HandlerKey.of(key).formerly(former));
  }

  private static HandlerSpec with(HandlerOption option) {
    return handler(HandlerKey.of("h"), option);
  }

  private static HandlerSpec transactional(String key) {
    return Specs.transactional(key, (payload, tx) -> {});
  }

  private static ChannelSpec channel(String name, HandlerSpec... handlers) {
    return channel(name, type(Order.class, "order", handlers));
  }

  private static ChannelSpec channel(String name, TypeSpec... types) {
    return Specs.channel(name, types);
  }

  private static ChannelSpec direct(String name, HandlerSpec... handlers) {
    return Specs.direct(name, type(Order.class, "order", handlers));
  }

  private static List<Problem> problems(ChannelSpec... channels) {
    Rules rules = new Rules();
    rules.check("shop", List.of(channels), true);
    return rules.problems();
  }

  private static String only(ErrorCode code, ChannelSpec... channels) {
    List<Problem> problems = problems(channels);
    assertThat(problems).extracting(Problem::code).containsExactly(code);
    return problems.get(0).text();
  }

  @Test
  void goodDeclarationsHaveNoProblems() {
    assertThat(
            problems(
                channel("orders", handler("a", "a-old", "a-older"), handler("b")),
                channel("payments", type(Payment.class, "payment", transactional("c")))))
        .isEmpty();
  }

  @Test
  void aPolicyForMissingKeysNeedsABusinessKey() {
    TypeSpec keyless =
        type(
            Channel.named("orders")
                .on(Order.class)
                .missingKey(OnMissingKey.USE_ID)
                .handle("h", order -> {}));

    assertThat(only(ErrorCode.OPTION_NOT_APPLICABLE, channel("orders", keyless)))
        .contains("'orders'", Order.class.getName(), ".keyedBy(");
  }

  @Idempotent(key = "reference")
  record Keyed(String reference) {}

  @Idempotent(key = {"refrence", "cents"})
  record Misspelt(String reference) {}

  @Test
  void aClassCanBringABusinessKey() {
    TypeSpec keyed =
        type(
            Channel.named("orders")
                .on(Keyed.class)
                .missingKey(OnMissingKey.USE_ID)
                .handle("h", order -> {}));

    assertThat(problems(channel("orders", keyed))).isEmpty();
  }

  @Test
  void everyWrongKeyOfAClassIsToldWithItsChannel() {
    assertThat(problems(channel("orders", type(Misspelt.class, "misspelt"))))
        .hasSize(2)
        .allSatisfy(
            problem -> {
              assertThat(problem.code()).isEqualTo(ErrorCode.BUSINESS_KEY_INVALID);
              assertThat(problem.text()).contains("'orders'", Misspelt.class.getName());
            });
  }

  @Test
  void aHandlerWithItsOwnKeyIsAlone() {
    HandlerOption own = HandlerOption.keyedBy(Order.class, order -> "k");

    assertThat(problems(channel("orders", with(own)))).isEmpty();
    assertThat(only(ErrorCode.OPTION_NOT_APPLICABLE, channel("orders", with(own), handler("b"))))
        .contains("'h'", "'orders'", "one of 2", "channel of its own", "inline()");
  }

  @Test
  void aHandlerThatIsInlineMayHaveItsOwnKeyBesideOthers() {
    TypeSpec type =
        type(
            Channel.named("orders")
                .on(Order.class)
                .missingKey(OnMissingKey.USE_ID)
                .handle("a", order -> {})
                .handle("b", order -> {}, inline(), HandlerOption.keyedBy(Order.class, it -> "k")));
    TypeSpec wrong =
        type(
            Channel.named("orders")
                .on(Order.class)
                .handle("a", order -> {})
                .handle(
                    "b", order -> {}, inline(), HandlerOption.keyedBy(Payment.class, it -> "k")));

    assertThat(problems(channel("orders", type))).isEmpty();
    assertThat(only(ErrorCode.BUSINESS_KEY_INVALID, channel("orders", wrong)))
        .contains(Order.class.getName(), Payment.class.getName());
  }

  @Test
  void theSelectorOfAHandlerTakesItsMessages() {
    TypeSpec type =
        type(
            Channel.named("orders")
                .on(Order.class)
                .handle("h", order -> {}, HandlerOption.keyedBy(Payment.class, it -> "k")));

    assertThat(only(ErrorCode.BUSINESS_KEY_INVALID, channel("orders", type)))
        .contains(Order.class.getName(), Payment.class.getName());
  }

  @ParameterizedTest
  @NullAndEmptySource
  @ValueSource(strings = {" ", "\t"})
  @SuppressWarnings("NullAway") // what careless callers do
  void d27_aHandlerNeedsAKey(@Nullable String key) {
    assertThat(only(ErrorCode.HANDLER_KEY_MISSING, channel("orders", handler(HandlerKey.of(key)))))
        .contains("'orders'", "'shop'", Order.class.getName());
  }

  @Test
  void d28_oneKeyTwiceNamesBothPlaces() {
    assertThat(
            only(
                ErrorCode.HANDLER_KEY_TWICE,
                channel("orders", handler("a")),
                channel("returns", handler("a"))))
        .contains("'a'", "'orders'", "'returns'");
  }

  @Test
  void d28_oneKeyTwiceInOnePlaceNamesItOnce() {
    assertThat(only(ErrorCode.HANDLER_KEY_TWICE, channel("orders", handler("a"), handler("a"))))
        .containsOnlyOnce("'orders'")
        .contains("'a'", "already declared there.");
  }

  @Test
  void d29_aFormerKeyIsAsTakenAsAKey() {
    assertThat(
            only(
                ErrorCode.FORMER_KEY_TAKEN,
                channel("orders", handler("a")),
                channel("returns", handler("b", "a"))))
        .contains("Former key 'a'", "'orders'", "'returns'");
    assertThat(
            only(
                ErrorCode.FORMER_KEY_TAKEN,
                channel("orders", handler("a", "old")),
                channel("returns", handler("b", "old"))))
        .contains("'old'", "'orders'", "'returns'");
    only(
        ErrorCode.FORMER_KEY_TAKEN,
        channel("orders", handler("a", "old")),
        channel("returns", handler("old")));
    only(ErrorCode.FORMER_KEY_TAKEN, channel("orders", handler("a", "a")));
    only(ErrorCode.FORMER_KEY_TAKEN, channel("orders", handler("a", "b", "b")));
  }

  @Test
  void d30_keysThatDifferByCaseNameBothPlaces() {
    assertThat(
            only(
                ErrorCode.HANDLER_KEYS_DIFFER_BY_CASE,
                channel("orders", handler("Mailer")),
                channel("returns", handler("mailer"))))
        .contains("'Mailer'", "'mailer'", "'orders'", "'returns'");
  }

  @ParameterizedTest
  @NullAndEmptySource
  @ValueSource(strings = {"a b", "a/b", "a\0b", "a\nb", "ä"})
  @SuppressWarnings("NullAway") // what careless callers do
  void d31_namesAreHeldToTheRule(@Nullable String name) {
    only(ErrorCode.NAME_INVALID, channel(name, handler("a")));
    Rules inbox = new Rules();
    inbox.check(name, List.of(channel("orders", handler("a"))), true);
    assertThat(inbox.problems()).extracting(Problem::code).containsExactly(ErrorCode.NAME_INVALID);
    if (name != null && !name.isEmpty()) {
      assertThat(only(ErrorCode.NAME_INVALID, channel("orders", handler(name))))
          .contains("letters, digits")
          .doesNotContain("\0")
          .doesNotContain("\n");
      only(ErrorCode.NAME_INVALID, channel("orders", handler("a", name)));
    }
    only(ErrorCode.NAME_INVALID, channel("orders", handler("k".repeat(201))));
  }

  @Test
  void aTypeNameStandsForOneClass() {
    assertThat(
            only(
                ErrorCode.TYPE_NAME_TAKEN,
                channel("orders", type(Order.class, "order", handler("a"))),
                channel("payments", type(Payment.class, "order", handler("b")))))
        .contains(Order.class.getName(), Payment.class.getName(), "'order'");
    TypeSpec renamed = type(Channel.named("orders").on(Payment.class).named("payment", "order"));
    only(ErrorCode.TYPE_NAME_TAKEN, channel("orders", type(Order.class, "order"), renamed));
    assertThat(
            problems(
                channel("orders", type(Order.class, "order", handler("a"))),
                channel("audit", type(Order.class, "order", handler("b")))))
        .as("two channels may take the same class under the same name")
        .isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "a\0", "a\nb", "a\uD800"})
  void aTypeNameMustBeStorable(String name) {
    only(ErrorCode.NAME_INVALID, channel("orders", type(Order.class, name)));
    only(ErrorCode.NAME_INVALID, channel("orders", type(Order.class, "t".repeat(201))));
  }

  @Test
  void aChannelDeclaresATypeOnce() {
    assertThat(
            only(
                ErrorCode.TYPE_NAME_TAKEN,
                channel(
                    "orders",
                    type(Order.class, "order", handler("a")),
                    type(Order.class, "order", handler("b")))))
        .contains("'orders'", Order.class.getName());
  }

  @Test
  void aChannelIsAddedOnce() {
    assertThat(
            only(
                ErrorCode.CHANNEL_TWICE,
                channel("orders", handler("a")),
                channel("orders", type(Payment.class, "payment", handler("b")))))
        .contains("'orders'", "'shop'");
  }

  @Test
  void twoInboxesMayHaveAChannelOfOneNameEach() {
    Rules rules = new Rules();
    rules.check("shop", List.of(channel("orders", handler("a"))), true);
    rules.check("ship", List.of(channel("orders", handler("b"))), true);
    assertThat(rules.problems()).isEmpty();

    rules.check("depot", List.of(channel("orders", handler("a"))), true);
    assertThat(rules.problems()).hasSize(1);
    assertThat(rules.problems().get(0).text()).contains("inbox 'shop'", "inbox 'depot'");
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "PT2562047788015215H"})
  void aTimeoutMustBeOne(String timeout) {
    assertThat(
            only(
                ErrorCode.TIMEOUT_INVALID,
                channel("orders", with(within(Duration.parse(timeout))))))
        .contains("'h'");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, 10_001, Integer.MAX_VALUE})
  void numbersAreHeldToTheirRange(int number) {
    only(ErrorCode.RANGE_INVALID, channel("orders", with(atMost(number))));
    assertThat(problems(channel("orders", with(sharedCommits(number)))))
        .extracting(Problem::code)
        .contains(ErrorCode.RANGE_INVALID);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -1, 0.0009, 1_000_001, Double.NaN, Double.POSITIVE_INFINITY})
  void aRateIsHeldToItsRange(double perSecond) {
    only(ErrorCode.RANGE_INVALID, channel("orders", with(perSecond(perSecond))));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, 1_000_001})
  void aNumberOfFailuresIsHeldToItsRange(int failures) {
    only(ErrorCode.RANGE_INVALID, channel("orders", with(pausingAfter(failures))));
  }

  @Test
  void limitsNeedAnInbox() {
    only(ErrorCode.OPTION_NOT_APPLICABLE, direct("live", with(perSecond(5))));
    only(ErrorCode.OPTION_NOT_APPLICABLE, direct("live", with(pausingAfter(5))));
  }

  @Test
  void optionsThatWouldBeIgnoredAreRefused() {
    only(ErrorCode.OPTION_NOT_APPLICABLE, channel("orders", with(sharedCommits(2))));
    only(ErrorCode.OPTION_NOT_APPLICABLE, direct("live", transactional("a")));
    only(ErrorCode.OPTION_NOT_APPLICABLE, direct("live", with(retrying(RetryPolicy.defaults()))));
    only(ErrorCode.OPTION_NOT_APPLICABLE, direct("live", with(within(Duration.ofSeconds(1)))));
    only(ErrorCode.OPTION_NOT_APPLICABLE, direct("live", with(atMost(4))));
  }

  @Test
  void aTransactionNeedsAStoreThatHasThem() {
    Rules rules = new Rules();
    rules.check("shop", List.of(channel("orders", transactional("a"))), false);

    assertThat(rules.problems())
        .extracting(Problem::code)
        .containsExactly(ErrorCode.TX_UNSUPPORTED);
  }

  @Test
  void allProblemsAreReportedTogether() {
    assertThat(
            problems(
                channel("or ders", handler("a"), handler("a"), handler("A")),
                channel("orders", new TypeSpec[0]),
                channel("orders", type(Payment.class, "order", handler("b", "a")))))
        .extracting(Problem::code)
        .containsExactly(
            ErrorCode.NAME_INVALID,
            ErrorCode.HANDLER_KEY_TWICE,
            ErrorCode.HANDLER_KEYS_DIFFER_BY_CASE,
            ErrorCode.CHANNEL_TWICE,
            ErrorCode.TYPE_NAME_TAKEN,
            ErrorCode.FORMER_KEY_TAKEN);
  }
}
