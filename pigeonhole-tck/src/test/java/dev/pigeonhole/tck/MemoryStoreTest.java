package dev.pigeonhole.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.testkit.MemoryStore;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.time.InstantSource;
import java.util.List;
import org.junit.jupiter.api.Test;

class MemoryStoreTest extends InboxStoreContract {
  @Override
  protected InboxStore store(InstantSource clock) {
    return MemoryStore.create().clock(clock);
  }

  @Test
  void aStoreWithoutADatabaseRefusesAConnection() {
    InboxStore store = MemoryStore.create();
    store.maintenance().open(settings());
    Connection connection =
        (Connection)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Connection.class},
                (proxy, method, arguments) -> {
                  throw new AssertionError("Asked for " + method.getName());
                });

    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(
            () ->
                store
                    .acceptor()
                    .accept(connection, List.of(new MessageBuilder("source", "m").build())))
        .satisfies(
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.TX_UNSUPPORTED);
              assertThat(e.kind()).isEqualTo(StoreException.Kind.PERMANENT);
            });
    assertThat(store.transactions()).isEmpty();
    assertThat(store.admin().messages()).isZero();
  }
}
