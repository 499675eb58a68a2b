package dev.pigeonhole.testkit;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Message;
import dev.pigeonhole.codec.PayloadCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Older forms of a message type, and codecs of its own. */
class VersionBehaviourTest {
  record Name(String first, String last) {}

  record Full(String name) {
    Name split() {
      int space = name.indexOf(' ');
      return new Name(name.substring(0, space), name.substring(space + 1));
    }
  }

  /** Writes fields one after the other. */
  private static final class Fields implements PayloadCodec {
    private final String separator;

    Fields(String separator) {
      this.separator = separator;
    }

    @Override
    public String contentType() {
      return "text/x-fields";
    }

    @Override
    public byte[] encode(Object payload) {
      String text =
          payload instanceof Name name
              ? name.first() + separator + name.last()
              : ((Full) payload).name();
      return text.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
      String text = content == null ? "" : new String(content, StandardCharsets.UTF_8);
      if (type == Full.class) {
        return type.cast(new Full(text));
      }
      String[] fields = text.split(separator, -1);
      return type.cast(new Name(fields[0], fields[1]));
    }
  }

  private final List<Object> handled = new ArrayList<>();

  private TestInbox inbox() {
    return TestInbox.of(
            Channel.named("c")
                .on(Name.class)
                .named("name", "nom")
                .upcast("name.v1", Full.class, Full::split)
                .orderedBy(Name::last)
                .handle("h", handled::add)
                .build())
        .with(it -> it.codec(new Fields("/")));
  }

  private static Message old(String id, String content) {
    return Message.encoded(
        id, "name.v1", content.getBytes(StandardCharsets.UTF_8), "text/x-fields");
  }

  @Test
  void anOlderFormReachesTheHandlerAsThePresentOne() {
    TestInbox inbox = inbox();
    inbox.receive("c", old("m", "Ada Lovelace"));
    inbox.receive("n", new Name("Grace", "Hopper"));
    inbox.drain();

    assertThat(handled)
        .containsExactlyInAnyOrder(new Name("Ada", "Lovelace"), new Name("Grace", "Hopper"));
  }

  @Test
  void selectorsSeeThePresentForm() {
    List<String> keys = new ArrayList<>();
    TestInbox inbox =
        TestInbox.of(
                Channel.named("c")
                    .on(Name.class)
                    .named("name")
                    .upcast("name.v1", Full.class, Full::split)
                    .keyedBy(Name::last)
                    .handleMessage("h", received -> keys.add(received.message().id()))
                    .build())
            .with(it -> it.codec(new Fields("/")));
    inbox.receive("c", old("m", "Ada Lovelace"));
    assertThat(inbox.receive("n", new Name("Augusta", "Lovelace")))
        .isInstanceOf(Acceptance.Repeat.class);
    inbox.drain();

    assertThat(keys).containsExactly("Lovelace");
  }

  @Test
  void aBusinessKeyStaysKnownWhenItsTypeGetsANewName() {
    Channel former =
        Channel.named("c")
            .on(Name.class)
            .named("name.v1")
            .keyedBy(Name::last)
            .handle("h", handled::add)
            .build();
    Channel renamed =
        Channel.named("c")
            .on(Name.class)
            .named("name.v2", "name.v1")
            .keyedBy(Name::last)
            .handle("h", handled::add)
            .build();

    MemoryStore store = MemoryStore.create();
    TestInbox before = on(store, former);
    TestInbox after = on(store, renamed); // both at once, as during a rolling deployment
    assertThat(before.receive("m-1", new Name("Ada", "Lovelace")))
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(after.receive("m-2", new Name("Ada", "Lovelace")))
        .isInstanceOf(Acceptance.Repeat.class);
    assertThat(after.receive("m-3", new Name("Grace", "Hopper")))
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(before.receive("m-4", new Name("Grace", "Hopper")))
        .isInstanceOf(Acceptance.Repeat.class);
    after.drain();
    assertThat(handled)
        .containsExactlyInAnyOrder(new Name("Ada", "Lovelace"), new Name("Grace", "Hopper"));
  }

  @Test
  void aBusinessKeyStaysKnownWhenItsTypeGetsANewForm() {
    Channel former =
        Channel.named("c")
            .on(Full.class)
            .named("name.v1")
            .keyedBy(full -> full.split().last())
            .handle("h", handled::add)
            .build();
    Channel changed =
        Channel.named("c")
            .on(Name.class)
            .named("name.v3", "name.v2")
            .upcast("name.v1", Full.class, Full::split)
            .keyedBy(Name::last)
            .handle("h", handled::add)
            .build();

    MemoryStore store = MemoryStore.create();
    TestInbox before = on(store, former);
    assertThat(before.receive("m-1", new Full("Ada Lovelace")))
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(on(store, changed).receive("m-2", new Name("Ada", "Lovelace")))
        .isInstanceOf(Acceptance.Repeat.class);
    before.drain();
    assertThat(handled).containsExactly(new Full("Ada Lovelace"));
  }

  private static TestInbox on(MemoryStore store, Channel channel) {
    return TestInbox.on(store, new TestClock(), channel).with(it -> it.codec(new Fields("/")));
  }

  @Test
  void anUpcastThatFailsPoisonsAtOnce() {
    TestInbox inbox =
        TestInbox.of(
                Channel.named("c")
                    .on(Name.class)
                    .named("name")
                    .upcast("name.v1", Full.class, Full::split)
                    .handle("h", handled::add)
                    .build())
            .with(it -> it.codec(new Fields("/")));
    inbox.receive("c", old("m", "Plato"));
    inbox.drain();

    assertThat(inbox).delivery("m", "h").isPoisonedWith(ErrorCode.PAYLOAD_UNDECODABLE);
    assertThat(inbox.find("m", "h").orElseThrow().lastFailure().orElseThrow().message())
        .contains("The upcast from 'name.v1' to 'name' failed");
  }

  @Test
  void aTypeMayHaveACodecOfItsOwn() {
    TestInbox inbox =
        TestInbox.of(
                Channel.named("c")
                    .on(Name.class)
                    .codec(new Fields(";"))
                    .handle("h", handled::add)
                    .build())
            .with(it -> it.codec(new Fields("/")));
    inbox.receive("m", new Name("a/b", "c"));
    inbox.drain();

    assertThat(handled).containsExactly(new Name("a/b", "c"));
  }

  @Test
  void aNameStandsForOneFormOnly() {
    TestInbox twice =
        TestInbox.of(
            Channel.named("c")
                .on(Name.class)
                .named("name", "name.v1")
                .upcast("name.v1", Full.class, Full::split)
                .codec(new Fields("/"))
                .handle("h", handled::add)
                .build());
    assertThatThrownBy(twice::inbox)
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("PH-KEY-08")
        .hasMessageContaining("has the name 'name.v1' twice");
  }
}
