package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoredMessage;
import java.text.Normalizer;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Source and id are compared byte for byte: what differs stays apart, and nothing is altered. */
abstract class IdentityContract extends StoreFixture {
  private static final String EMOJI = "\uD83D\uDE00";

  private HandlerId a;

  IdentityContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandler() {
    a = handler("a");
  }

  @Test
  void id01_d12_d14_theSixIdsThatACollationMergesStayApart() {
    apart("Order-1", "order-1", "ORDER-1 ", "\u00F3rder-1", EMOJI, "\uD83D\uDE80");
  }

  @Test
  void id02_d11_trailingSpacesCount() {
    apart("a", "a ", "a  ", " a", "a\u00A0");
  }

  @Test
  void id05_d13_normalFormsStayApart() {
    String composed = "caf\u00E9";
    String decomposed = Normalizer.normalize(composed, Normalizer.Form.NFD);
    assertThat(decomposed).isNotEqualTo(composed);

    apart(composed, decomposed);
  }

  @Test
  void id06_d20_theSameIdOfTwoSourcesIsTwoMessages() {
    apart(ref("shop", "1"), ref("Shop", "1"), ref("shop ", "1"), ref("https://shop/a?b=c", "1"));
  }

  @Test
  void id20_sourceAndIdAreNotJustGlued() {
    apart(ref("a", "bc"), ref("ab", "c"), ref("a/b", "c"), ref("a", "b/c"));
  }

  @Test
  void d15_d16_zeroWidthCharactersAndOverridesCount() {
    apart("ab", "a\u200Db", "a\u200Cb", "a\u200Bb", "\u202Eab", "\uFEFFab");
  }

  @Test
  void lookAlikesStayApart() {
    apart(
        "stra\u00DFe", "strasse", "STRASSE", "\u0456d", "id", "\u0131d", "\u0130d", "1", "\uFF11");
  }

  @Test
  void d17_d18_d19_d114_idsThatLookLikeCodeAreData() {
    apart(
        "'; DROP TABLE x;--",
        "\" OR \"\"=\"",
        "../../etc",
        "${jndi:ldap://x}",
        "%",
        "_",
        "\\",
        "\\\\",
        "\\'",
        "?",
        ":id",
        "{fn now()}",
        "/* */",
        "NULL",
        "0x41",
        "A");
  }

  @Test
  void my14_aLongIdOfFourByteCharactersIsKeptWhole() {
    apart(EMOJI.repeat(200), EMOJI.repeat(199) + "\uD83D\uDE01", EMOJI.repeat(199));
  }

  @Test
  void theLongestIdentityIsKeptWhole() {
    String source = EMOJI.repeat(250);

    apart(
        ref(source, EMOJI.repeat(200)),
        ref(source, EMOJI.repeat(199) + "x"),
        ref(EMOJI.repeat(249) + "x", EMOJI.repeat(200)));
  }

  @Test
  void b05_anIdOfTwoHundredCharactersIsAccepted() {
    apart("x".repeat(200), "x".repeat(199) + "y");
  }

  private static MessageRef ref(String source, String id) {
    return new MessageRef(source, id);
  }

  private void apart(String... ids) {
    apart(Stream.of(ids).map(id -> ref(SOURCE, id)).toArray(MessageRef[]::new));
  }

  /** All are new, all are known the second time, and each comes back as it was. */
  private void apart(MessageRef... refs) {
    List<NewMessage> batch =
        Stream.of(refs)
            .map(ref -> new MessageBuilder(ref.source(), ref.id()).to(a).build())
            .toList();

    List<Long> seqs = accept(batch).stream().map(StoreFixture::storedSeq).toList();

    assertThat(store.admin().messages()).isEqualTo(refs.length);
    assertThat(fresh(a)).hasSize(refs.length);
    for (int i = 0; i < refs.length; i++) {
      AcceptResult again = accept(batch.get(i));
      assertThat(asKnown(again).seq()).as("%s again", refs[i]).isEqualTo(seqs.get(i));
      MessageRef loaded = ref(load(seqs.get(i)));
      assertThat(loaded).isEqualTo(refs[i]);
      assertThat(store.admin().find(refs[i].source(), refs[i].id(), a.family()))
          .as("view of %s", refs[i])
          .hasValueSatisfying(view -> assertThat(view.message()).isEqualTo(loaded));
    }
  }

  private static MessageRef ref(StoredMessage message) {
    return new MessageRef(message.source(), message.id());
  }
}
