package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Loaded;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoredMessage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A message comes out as it went in, byte for byte. */
abstract class ContentContract extends StoreFixture {
  private HandlerId a;

  ContentContract(InboxStoreContract contract) {
    super(contract);
  }

  @BeforeEach
  void registerHandler() {
    a = handler("a");
  }

  @Test
  void everyFieldOfAMessageComesBack() {
    NewMessage message =
        message("m")
            .type("order.placed.v2")
            .inLane(1)
            .ordered("customer \uD83D\uDE00 '7'")
            .content("{\"total\": 12}")
            .contentType("application/vnd.shop+json; charset=\"utf-8\"")
            .headers(new byte[] {1, 0, -1})
            .occurredAt(clock.now().minusSeconds(3600))
            .to(a)
            .build();

    StoredMessage loaded = load(stored(message));

    assertThat(loaded)
        .usingRecursiveComparison()
        .isEqualTo(
            new StoredMessage(
                loaded.seq(),
                loaded.version(),
                SOURCE,
                "m",
                "order.placed.v2",
                "orders",
                "local",
                "customer \uD83D\uDE00 '7'",
                message.content(),
                message.contentType(),
                message.headers(),
                message.contentHash(),
                message.occurredAt(),
                clock.now(),
                Map.of()));
  }

  @Test
  void whatIsAbsentStaysAbsent() {
    StoredMessage loaded = load(stored(message("m").content((byte[]) null).to(a).build()));

    assertThat(loaded.content()).isNull();
    assertThat(loaded.orderingKey()).isNull();
    assertThat(loaded.occurredAt()).isNull();
    assertThat(loaded.headers()).isEmpty();
  }

  @Test
  void anEmptyPayloadIsNotAMissingOne() {
    assertThat(load(stored(message("m").content(new byte[0]).to(a).build())).content())
        .isNotNull()
        .isEmpty();
  }

  @Test
  void everyByteValueSurvives() {
    byte[] bytes = new byte[256];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) i;
    }

    StoredMessage loaded = load(stored(message("m").content(bytes).headers(bytes).to(a).build()));

    assertThat(loaded.content()).isEqualTo(bytes);
    assertThat(loaded.headers()).isEqualTo(bytes);
  }

  @Test
  void aPayloadOfOneMegabyteAndLargeHeadersSurvive() {
    byte[] content = new byte[1 << 20];
    byte[] headers = new byte[64 << 10];
    Random random = Size.random("large payload");
    random.nextBytes(content);
    random.nextBytes(headers);

    StoredMessage loaded =
        load(stored(message("m").content(content).headers(headers).to(a).build()));

    assertThat(loaded.content()).isEqualTo(content);
    assertThat(loaded.headers()).isEqualTo(headers);
  }

  @Test
  void pg12_randomBodiesAreByteIdentical() {
    Random random = Size.random("random bodies");
    int left = Size.of(500, 10_000);
    for (int round = 0; left > 0; round++, left -= 250) {
      List<NewMessage> batch = new ArrayList<>();
      for (int i = 0; i < Math.min(left, 250); i++) {
        byte[] content = new byte[random.nextInt(400)];
        byte[] headers = new byte[random.nextInt(60)];
        random.nextBytes(content);
        random.nextBytes(headers);
        batch.add(message(round + "-" + i).content(content).headers(headers).to(a).build());
      }
      List<Long> seqs = accept(batch).stream().map(StoreFixture::storedSeq).toList();
      Map<Long, StoredMessage> loaded = store.deliveries().load(seqs);
      for (int i = 0; i < batch.size(); i++) {
        StoredMessage message = present(loaded.get(seqs.get(i)));
        assertThat(message.content()).isEqualTo(batch.get(i).content());
        assertThat(message.headers()).isEqualTo(batch.get(i).headers());
        assertThat(message.contentHash()).isEqualTo(batch.get(i).contentHash());
      }
    }
  }

  @Test
  void whatACallerDoesToItsArraysAfterwardsIsNotSeen() {
    byte[] content = {1, 2, 3};
    byte[] headers = {4, 5, 6};
    long seq = stored(message("m").content(content).headers(headers).to(a).build());
    content[0] = 9;
    headers[0] = 9;

    assertThat(load(seq).content()).containsExactly(1, 2, 3);
    assertThat(load(seq).headers()).containsExactly(4, 5, 6);
  }

  @Test
  void b35_whatOneHandlerDoesToALoadedMessageIsNotSeenByAnother() {
    long seq =
        stored(message("m").content(new byte[] {1, 2, 3}).headers(new byte[] {4}).to(a).build());
    StoredMessage loaded = load(seq);
    present(loaded.content())[0] = 9;
    loaded.headers()[0] = 9;
    loaded.contentHash()[0]++;

    assertThat(load(seq).content()).containsExactly(1, 2, 3);
    assertThat(load(seq).headers()).containsExactly(4);
    assertThat(known(message("m").content(new byte[] {1, 2, 3}).to(a).build()).seq())
        .isEqualTo(seq);
  }

  @Test
  void aLoadBringsNoMoreContentThanWasAskedFor() {
    List<Long> seqs = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      seqs.add(stored(message("large-" + i).content(new byte[100_000]).to(a).build()));
      seqs.add(stored(message("small-" + i).content(new byte[10]).to(a).build()));
    }
    seqs.add(stored(message("headers").headers(new byte[100_000]).to(a).build()));
    long gone = seqs.get(seqs.size() - 1) + 1;
    List<Long> open = new ArrayList<>(seqs);
    open.add(gone);
    Map<Long, StoredMessage> all = new HashMap<>();

    for (int round = 0; !open.isEmpty(); round++) {
      assertThat(round).isLessThan(seqs.size());
      Loaded part = store.deliveries().load(open, 250_000);
      assertThat(part.messages()).containsKey(open.get(0)).doesNotContainKey(gone);
      assertThat(part.messages().values().stream().mapToLong(ContentContract::size).sum())
          .isLessThanOrEqualTo(250_000);
      assertThat(part.left()).doesNotContainAnyElementsOf(part.messages().keySet());
      all.putAll(part.messages());
      open = new ArrayList<>(part.left());
    }

    assertThat(all).containsOnlyKeys(seqs);
    assertThat(all.values().stream().mapToLong(ContentContract::size).sum())
        .isGreaterThan(7 * 100_000);
  }

  private static long size(StoredMessage message) {
    return message.headers().length + present(message.content()).length;
  }

  @Test
  void theFirstMessageIsLoadedWhateverItsSize() {
    long large = stored(message("large").content(new byte[100_000]).to(a).build());
    long other = stored(message("other").content(new byte[100_000]).to(a).build());

    Loaded loaded = store.deliveries().load(List.of(large, other), 1);

    assertThat(loaded.messages()).containsOnlyKeys(large);
    assertThat(present(loaded.messages().get(large)).content()).hasSize(100_000);
    assertThat(loaded.left()).containsExactly(other);
  }

  @Test
  void aMessageThatIsGoneIsMissingFromTheAnswer() {
    long seq = stored(message("m").to(a).build());

    assertThat(store.deliveries().load(List.of(seq, seq + 1000))).containsOnlyKeys(seq);
    assertThat(store.deliveries().load(List.of())).isEmpty();
  }

  @Test
  void aMessageCanBeLoadedAfterAllItsDeliveriesEnded() {
    long seq = stored(message("m").to(a).build());
    settle(ready(a, seq), completed());

    assertThat(load(seq).id()).isEqualTo("m");
  }
}
