package dev.pigeonhole.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a consumer of Kafka usually stumbles over, each on a real broker. */
class KafkaHazardsTest extends BrokerTest {
  // Shorter, and a machine that is busy elsewhere is enough to lose the membership.
  private static final Duration POLL_INTERVAL = Duration.ofSeconds(10);
  private static final Duration LONGER = POLL_INTERVAL.plusMillis(500);

  KafkaHazardsTest() {
    super(TestBroker.shared());
  }

  /** In several groups side by side: a life waits more than it computes. */
  @Test
  @Timeout(1_800)
  void kf01_aProcessThatDiesBeforeOrAfterTheStoreCommitsLosesNothing(@TempDir Path directory)
      throws Exception {
    int groups = FULL ? 4 : 1;
    int kills = FULL ? 50 : 3;
    ExecutorService threads = Executors.newFixedThreadPool(groups);
    try {
      List<Future<?>> ends = new ArrayList<>();
      for (int group = 0; group < groups; group++) {
        Path store = directory.resolve("store-" + group);
        ends.add(threads.submit(() -> losesNothing(kills, store)));
      }
      for (Future<?> end : ends) {
        end.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static void losesNothing(int kills, Path store) {
    try (TestBroker broker = TestBroker.shared()) {
      String topic = broker.topic(2);
      List<String> sent = ids("m-", MortalConsumer.MOST_TAKEN * kills);
      for (int i = 0; i < sent.size(); i++) {
        broker.send(topic, i % 2, sent.get(i));
      }
      for (int seed = 0; seed < kills; seed++) {
        try (JavaProcess child =
            JavaProcess.of(MortalConsumer.class)
                .heap("256m")
                .args(broker.bootstrap(), broker.group, topic, store, seed)
                .start()) {
          assertThat(child.waitFor(LIMIT)).isEqualTo(MortalConsumer.DIED);
        }
      }
      try (Ledger ledger = Ledger.open(store)) {
        Intake survivor = new Intake();
        survivor.answering(
            envelope -> {
              ledger.append(envelope.id().orElseThrow());
              return new Disposition.Done();
            });
        KafkaSource source =
            KafkaSource.topic(MortalConsumer.config(broker.bootstrap(), broker.group), topic);
        source.start(survivor);
        try {
          Eventually.until("no lag", LIMIT, () -> broker.lag(topic, 2) == 0);
        } finally {
          stop(source);
        }
      }
      assertThat(new HashSet<>(Ledger.read(store))).isEqualTo(new HashSet<>(sent));
    }
  }

  @Test
  void kf02_membersThatComeAndGoLoseNothing() {
    String topic = broker.topic(4);
    int rounds = FULL ? 150 : 4;
    start(KafkaSource.topic(broker.config(), topic));
    List<String> sent = new ArrayList<>();
    for (int round = 0; round < rounds; round++) {
      Intake guests = new Intake();
      KafkaSource guest = start(KafkaSource.topic(broker.config(), topic), guests);
      for (int i = 0; guests.done().isEmpty() || i < 40; i++) {
        String id = "m-" + round + "-" + i;
        broker.send(topic, i % 4, id);
        sent.add(id);
      }
      stop(guest);
      guests.ids().forEach(sent::remove);
    }
    awaitTaken(sent);
    awaitNoLag(topic, 4);
  }

  @Test
  void kf02_anAnswerThatComesAfterThePartitionHasMovedCommitsNothing() throws Exception {
    String topic = broker.topic(2);
    broker.send(topic, 0, "a-0");
    broker.send(topic, 1, "b-0");
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch gate = new CountDownLatch(1);
    intake.before(
        () -> {
          entered.countDown();
          Intake.hangUntil(gate);
        });
    start(KafkaSource.topic(broker.config(), topic));
    entered.await();
    Intake others = new Intake();
    start(KafkaSource.topic(broker.config(), topic), others);
    Eventually.until("the other to get a partition", LIMIT, () -> !others.done().isEmpty());
    int moved = (Integer) others.done().get(0).properties().get("partition");
    broker.send(topic, moved, "c-1", "c-2");
    Eventually.until(
        "the other to commit",
        LIMIT,
        () -> broker.committed(new TopicPartition(topic, moved)) == 3);
    gate.countDown();
    Eventually.until(
        "the first to commit what is its own",
        LIMIT,
        () -> broker.committed(new TopicPartition(topic, 1 - moved)) == 1);

    assertThat(broker.committed(new TopicPartition(topic, moved))).isEqualTo(3);
    assertThat(others.ids()).hasSize(3);
  }

  /** As the client tells a member whose partitions are about to move. */
  @Test
  void kf02_whatIsBeingHandedInWhenPartitionsMoveIsAwaitedAndCommitted() {
    TopicPartition partition = new TopicPartition(broker.topic(1), 0);
    KafkaSource.Choices choices =
        new KafkaSource.Choices(new ClientSettings(broker.config()), List.of(partition.topic()));
    choices.answerBeforeMove = LIMIT;
    choices.commitBeforeMove = LIMIT;
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch gate = new CountDownLatch(1);
    intake.before(
        () -> {
          entered.countDown();
          Intake.hangUntil(gate);
        });
    ExecutorService beside = Executors.newSingleThreadExecutor();
    Troubles troubles = new Troubles("kafka:moving", System::nanoTime);
    GroupMember member =
        new GroupMember(
            choices,
            new KafkaConsumer<>(choices.settings.forConsumer(choices.batch)),
            new Backlog(
                choices,
                new HandIn(new RecordReader(choices, UnaryOperator.identity()), intake, null),
                beside,
                troubles),
            new Topics(choices.topics, broker::admin, troubles, System::nanoTime),
            new OpenTransactions(
                choices.transactionAlarm, broker::admin, troubles, System::nanoTime),
            troubles,
            () -> false);
    try {
      broker.send(partition.topic(), 0, "m-1");
      member.join();
      while (entered.getCount() > 0) {
        member.turn();
      }
      openWhenThisThreadWaits(gate);
      member.onPartitionsRevoked(List.of(partition));

      assertThat(intake.ids()).containsExactly("m-1");
      assertThat(broker.committed(partition)).isEqualTo(1);
    } finally {
      gate.countDown();
      member.leave(Duration.ofSeconds(30));
      beside.shutdown();
    }
  }

  /** Otherwise the answer could be there before anybody has waited for it. */
  private static void openWhenThisThreadWaits(CountDownLatch gate) {
    Thread waiting = Thread.currentThread();
    Thread opener =
        new Thread(
            () -> {
              while (gate.getCount() > 0) {
                if (waiting.getState() == Thread.State.TIMED_WAITING) {
                  gate.countDown();
                }
                Thread.onSpinWait();
              }
            });
    opener.setDaemon(true);
    opener.start();
  }

  @Test
  void aSourceThatIsStoppedLeavesItsGroupAtOnce() {
    String topic = broker.topic(1);
    KafkaSource source = start(KafkaSource.topic(patient(), topic));
    broker.send(topic, 0, "m-1");
    awaitTaken(List.of("m-1"));
    assertThat(broker.members()).hasSize(1);
    stop(source);

    Eventually.until("nobody in the group", LIMIT, () -> broker.members().isEmpty());
  }

  @Test
  void anInstanceWithANameComesBackToItsPartitionsAndNoOthersMove() {
    String topic = broker.topic(2);
    KafkaSource first = start(KafkaSource.topic(named("first"), topic));
    Intake others = new Intake();
    start(KafkaSource.topic(named("second"), topic), others);
    Eventually.passes(
        LIMIT,
        () ->
            assertThat(broker.assignments().values())
                .hasSize(2)
                .allSatisfy(each -> assertThat(each).hasSize(1)));
    Map<String, Set<TopicPartition>> before = broker.assignments();
    stop(first);
    assertThat(broker.assignments()).isEqualTo(before);
    broker.send(topic, 0, "m-0");
    broker.send(topic, 1, "m-1");
    Eventually.until("the other to go on", LIMIT, () -> !others.done().isEmpty());
    first.start(intake);
    Eventually.until("the first to go on", LIMIT, () -> !intake.done().isEmpty());
    awaitNoLag(topic, 2);

    assertThat(broker.assignments()).isEqualTo(before);
    assertThat(others.done()).hasSize(1);
    assertThat(intake.done()).hasSize(1);
  }

  private Map<String, Object> named(String instance) {
    Map<String, Object> config = patient();
    config.put("group.instance.id", instance);
    return config;
  }

  /** Whoever is away without a word stays a member for longer than any test waits. */
  private Map<String, Object> patient() {
    Map<String, Object> config = broker.config();
    config.put("session.timeout.ms", 600_000);
    return config;
  }

  @Test
  void kf03_aStoreThatIsDownForLongerThanThePollIntervalCostsNoMembership() {
    String topic = broker.topic(1);
    AtomicInteger calls = new AtomicInteger();
    intake.before(
        () -> {
          int call = calls.incrementAndGet();
          if (call == 1) {
            Intake.hang(LONGER); // hangs, and fails then
          }
          if (call <= 3) {
            throw new IllegalStateException("the store is down");
          }
        });
    KafkaSource source = start(KafkaSource.topic(impatient(), topic));
    broker.send(topic, 0, "m-1", "m-2");
    Eventually.until("it to be handed in", LIMIT, () -> calls.get() > 0);
    Set<String> before = broker.members();
    awaitTrouble(source, "PH-KFK-03");
    awaitNoLag(topic, 1);

    assertThat(before).hasSize(1);
    assertThat(broker.members()).isEqualTo(before);
    assertThat(intake.ids()).containsExactly("m-1", "m-2");
    awaitNoTrouble(source);
  }

  @Test
  void kf03_aPausedSourceKeepsItsPartitions() {
    String topic = broker.topic(1);
    KafkaSource source = start(KafkaSource.topic(impatient(), topic));
    broker.send(topic, 0, "m-1");
    awaitTaken(List.of("m-1"));
    Set<String> before = broker.members();
    source.pause("enough");
    Intake.hang(LONGER);
    assertThat(broker.members()).hasSize(1).isEqualTo(before);

    source.resume();
    broker.send(topic, 0, "m-2");
    awaitTaken(List.of("m-2"));
    assertThat(broker.members()).isEqualTo(before);
  }

  private Map<String, Object> impatient() {
    Map<String, Object> config = broker.config();
    config.put("max.poll.interval.ms", (int) POLL_INTERVAL.toMillis());
    return config;
  }

  @Test
  void kf04_garbageIsParkedAndTheOffsetsAdvance() {
    String topic = broker.topic(1);
    String parking = broker.topic(1);
    Random random = new Random(4);
    for (int i = 0; i < 100; i++) {
      byte[] garbage = new byte[random.nextInt(200)];
      random.nextBytes(garbage);
      ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, garbage, garbage);
      record.headers().add("pigeonhole-id", garbage.length % 2 == 0 ? garbage : null);
      broker.send(record);
    }
    broker.send(topic, 0, "m-1");
    intake.answering(
        envelope ->
            envelope.type().isPresent()
                ? new Disposition.Done()
                : new Disposition.Refused(ErrorCode.TYPE_MISSING, "PH-KEY-11: no type"));
    start(KafkaSource.topic(broker.config(), topic).parkingIn(parking));
    awaitTaken(List.of("m-1"));
    awaitNoLag(topic, 1);

    List<ConsumerRecord<byte[], byte[]>> parked = broker.read(parking);
    assertThat(parked).hasSize(100);
    assertThat(parked)
        .allSatisfy(
            each -> {
              assertThat(TestBroker.header(each, "pigeonhole-code")).matches("PH-(KEY-11|ID-05)");
              assertThat(TestBroker.header(each, "pigeonhole-topic")).isEqualTo(topic);
              assertThat(each.key()).isEqualTo(each.value());
            });
  }

  @Test
  void kf05_offsetsThatWereForgottenAreAnErrorAndNotASkip() {
    String topic = broker.topic(1);
    KafkaSource source = start(KafkaSource.topic(broker.config(), topic));
    broker.send(topic, 0, "m-1", "m-2");
    awaitTaken(List.of("m-1", "m-2"));
    awaitNoLag(topic, 1);
    stop(source);
    TestBroker.get(
        broker
            .admin()
            .deleteConsumerGroupOffsets(broker.group, Set.of(new TopicPartition(topic, 0)))
            .all());
    broker.send(topic, 0, "m-3");

    KafkaSource strict = start(KafkaSource.topic(broker.config(), topic).startAt(StartAt.NONE));
    awaitTrouble(strict, "PH-KFK-03");
    assertThat(strict.trouble().orElseThrow()).contains(broker.group).contains("startAt(EARLIEST)");
    stop(strict);
    assertThat(intake.ids()).containsExactly("m-1", "m-2");

    start(KafkaSource.topic(broker.config(), topic));
    awaitTaken(List.of("m-3"));
    assertThat(intake.ids()).containsExactly("m-1", "m-2", "m-1", "m-2", "m-3");
  }

  @Test
  void kf07_aTransactionThatNobodyEndsIsTrouble() {
    String topic = broker.topic(1);
    KafkaSource source =
        start(KafkaSource.topic(broker.config(), topic).transactionAlarm(Duration.ofMillis(400)));
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.<String, Object>of(
                "bootstrap.servers", broker.bootstrap(), "transactional.id", topic),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      producer.initTransactions();
      producer.beginTransaction();
      TestBroker.get(producer.send(TestBroker.record(TestBroker.envelope(topic, "m-1").build())));
      broker.send(topic, 0, "m-2");
      awaitTrouble(source, "PH-KFK-07");
      assertThat(source.trouble().orElseThrow()).contains(topic + "-0 since offset 0");
      assertThat(intake.offered()).isEmpty();

      producer.commitTransaction();
    }
    awaitTaken(List.of("m-1", "m-2"));
    awaitNoLag(topic, 1); // the end of the transaction has an offset, too
    awaitNoTrouble(source);
  }

  @Test
  void kf08_aLogThatWasTruncatedStopsItsPartition() {
    String topic = broker.topic(2);
    broker.send(topic, 0, "m-1", "m-2");
    // As if the broker had forgotten what the group has read in the first epoch.
    broker.setOffset(new TopicPartition(topic, 0), new OffsetAndMetadata(100, Optional.of(0), ""));
    KafkaSource source = start(KafkaSource.topic(broker.config(), topic));
    broker.send(topic, 1, "other");
    awaitTrouble(source, "PH-KFK-04");
    awaitTaken(List.of("other"));

    assertThat(source.trouble().orElseThrow()).contains(topic + "-0").contains("truncated");
    assertThat(intake.ids()).containsExactly("other");
    assertThat(broker.committed(new TopicPartition(topic, 0))).isEqualTo(100);
  }

  @Test
  void d108_anOffsetThatIsGoneStopsItsPartition() {
    String topic = broker.topic(2);
    TopicPartition partition = new TopicPartition(topic, 0);
    broker.send(topic, 0, "m-1", "m-2", "m-3");
    TestBroker.get(
        broker.admin().deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(2))).all());
    broker.setOffset(partition, new OffsetAndMetadata(1));
    Map<String, Object> config = broker.config();
    config.put("auto.offset.reset", "earliest"); // for a group without an offset, and for no other
    KafkaSource source = start(KafkaSource.topic(config, topic));
    broker.send(topic, 1, "other");
    awaitTrouble(source, "PH-KFK-04");
    awaitTaken(List.of("other"));

    assertThat(source.trouble().orElseThrow()).contains("no offset 1 any more");
    assertThat(intake.ids()).containsExactly("other");
    assertThat(broker.committed(partition)).isEqualTo(1);
    stop(source);

    broker.setOffset(partition, new OffsetAndMetadata(2)); // the way out
    start(KafkaSource.topic(broker.config(), topic));
    awaitTaken(List.of("m-3"));
    awaitNoLag(topic, 2);
  }

  @Test
  void kf10_theCommittedOffsetNeverPassesWhatIsUnfinished() {
    String topic = broker.topic(1);
    TopicPartition partition = new TopicPartition(topic, 0);
    int count = FULL ? 2_000 : 200;
    Set<Long> finished = ConcurrentHashMap.newKeySet();
    Map<Long, Integer> offers = new ConcurrentHashMap<>();
    Random random = new Random(10);
    intake.answering(
        envelope -> {
          Long offset = (Long) envelope.properties().get("offset");
          if (offers.merge(offset, 1, Integer::sum) <= 2 && random.nextBoolean()) {
            return new Disposition.Later(ErrorCode.HANDLER_FAILED, "PH-HND-01: not yet");
          }
          finished.add(offset);
          return new Disposition.Done();
        });
    start(KafkaSource.topic(broker.config(), topic).batch(20));
    for (String id : ids("m-", count)) {
      broker.send(topic, 0, id);
    }
    Eventually.until(
        "all of them",
        LIMIT,
        () -> {
          long committed = broker.committed(partition);
          for (long offset = 0; offset < committed; offset++) {
            if (!finished.contains(offset)) {
              throw new AssertionError(committed + " is committed, and " + offset + " unfinished");
            }
          }
          return committed == count;
        });
  }

  @Test
  void kf11_morePartitionsKeepTheOrderOfAKeyOnceWhatWasThereIsDrained() {
    String topic = broker.topic(1);
    start(KafkaSource.topic(withFreshMetadata(), topic));
    sendKeyed(topic, "a-", 20);
    awaitNoLag(topic, 1);
    TestBroker.get(
        broker.admin().createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all());
    Eventually.until("three partitions", LIMIT, () -> broker.partitionsOf(topic) == 3);
    sendKeyed(topic, "b-", 20);
    Eventually.until("all of them", LIMIT, () -> Set.copyOf(intake.ids()).size() >= 80);

    for (String key : List.of("k-0", "k-1")) {
      List<String> expected = new ArrayList<>(ids("a-" + key + "-", 20));
      expected.addAll(ids("b-" + key + "-", 20));
      assertThat(
              intake.done().stream()
                  .filter(each -> each.key().equals(Optional.of(key)))
                  .map(each -> each.id().orElseThrow())
                  .distinct()) // a busy member loses its partitions, and gets some again
          .containsExactlyElementsOf(expected);
    }
  }

  private Map<String, Object> withFreshMetadata() {
    Map<String, Object> config = broker.config();
    config.put("metadata.max.age.ms", 500);
    return config;
  }

  private void sendKeyed(String topic, String prefix, int count) {
    for (int i = 0; i < count; i++) {
      for (String key : List.of("k-0", "k-1")) {
        Envelope envelope = TestBroker.envelope(topic, prefix + key + "-" + i).key(key).build();
        broker.send(TestBroker.record(envelope));
      }
    }
  }

  @Test
  void id10_aTopicThatIsCreatedAnewGivesOtherPositions() {
    String topic = broker.topic(1);
    KafkaSource source = KafkaSource.topic(broker.config(), topic).idFrom(KafkaId.position());
    broker.send(topic, 0, "x");
    start(source);
    Eventually.until("the first", LIMIT, () -> intake.done().size() == 1);
    stop(source);
    TestBroker.get(broker.admin().deleteTopics(List.of(topic)).all());
    Eventually.passes(LIMIT, () -> broker.create(topic, 1, Map.of()));
    broker.send(topic, 0, "x");
    Map<String, Object> others = broker.config();
    others.put("group.id", broker.group + "-2");
    start(KafkaSource.topic(others, topic).idFrom(KafkaId.position()));
    Eventually.until("the second", LIMIT, () -> intake.done().size() == 2);

    assertThat(intake.ids()).doesNotHaveDuplicates().allMatch(id -> id.endsWith(":0:0"));
  }

  @Test
  void d107_aTopicThatIsMissingIsTroubleUntilItIsThere() {
    String topic = "late-" + broker.group;
    KafkaSource source = start(KafkaSource.topic(withFreshMetadata(), topic));
    awaitTrouble(source, "PH-KFK-01");
    broker.create(topic, 1, Map.of());
    broker.send(topic, 0, "m-1");
    awaitTaken(List.of("m-1"));
    awaitNoTrouble(source);
  }

  @Test
  void d107_aRightThatIsMissingIsTroubleUntilItIsGiven() {
    String topic = broker.topic(1);
    AclBinding denied =
        new AclBinding(
            new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL),
            new AccessControlEntry(
                "User:ANONYMOUS", "*", AclOperation.READ, AclPermissionType.DENY));
    TestBroker.get(broker.admin().createAcls(List.of(denied)).all());
    KafkaSource source = start(KafkaSource.topic(broker.config(), topic));
    awaitTrouble(source, "PH-KFK-02");
    assertThat(source.trouble().orElseThrow()).contains(topic);

    TestBroker.get(broker.admin().deleteAcls(List.of(denied.toFilter())).all());
    broker.send(topic, 0, "m-1");
    awaitTaken(List.of("m-1"));
    awaitNoTrouble(source);
  }

  @Test
  void d109_aRecordLargerThanAFetchIsRead() {
    String topic = broker.topic(1);
    Map<String, Object> config = broker.config();
    config.put("fetch.max.bytes", 1_000);
    config.put("max.partition.fetch.bytes", 1_000);
    broker.send(0, TestBroker.envelope(topic, "large").body(new byte[100_000]).build());
    broker.send(topic, 0, "m-1");
    start(KafkaSource.topic(config, topic));
    awaitTaken(List.of("large", "m-1"));
    awaitNoLag(topic, 1);
  }
}
