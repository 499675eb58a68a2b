package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.ConnectionFactory;
import java.util.concurrent.ThreadFactory;
import org.junit.jupiter.api.Test;

class FactoriesTest {
  private final ConnectionFactory theirs = new ConnectionFactory();

  @Test
  void rq03_theClientsOwnRecoveryIsOff() {
    ConnectionFactory own = Factories.own(theirs);
    assertThat(own.isAutomaticRecoveryEnabled()).isFalse();
    assertThat(own.isTopologyRecoveryEnabled()).isFalse();
    assertThat(theirs.isAutomaticRecoveryEnabled()).as("of the user's factory").isTrue();
  }

  @Test
  void rq13_aLinkThatIsOnlyHalfThereIsNoticedSoonUnlessTheUserHasChosen() {
    assertThat(Factories.own(theirs).getRequestedHeartbeat()).isEqualTo(10);
    assertThat(Factories.own(theirs).getConnectionTimeout()).isEqualTo(10_000);
    assertThat(Factories.own(theirs).getChannelRpcTimeout()).isEqualTo(30_000);

    theirs.setRequestedHeartbeat(3);
    theirs.setConnectionTimeout(700);
    assertThat(Factories.own(theirs).getRequestedHeartbeat()).isEqualTo(3);
    assertThat(Factories.own(theirs).getConnectionTimeout()).isEqualTo(700);
  }

  @Test
  void bodiesOfAnySizeAreTakenSoThatNoneEndsEveryConnection() {
    assertThat(Factories.own(theirs).params(null).getMaxInboundMessageBodySize())
        .isEqualTo(Integer.MAX_VALUE);
  }

  @Test
  void theClientsThreadsAreOursUnlessTheUserBringsThem() {
    Thread thread = Factories.own(theirs).getThreadFactory().newThread(() -> {});
    assertThat(thread.isDaemon()).as("as the client's own").isFalse();

    ThreadFactory brought = Thread::new;
    theirs.setThreadFactory(brought);
    assertThat(Factories.own(theirs).getThreadFactory()).isSameAs(brought);
  }
}
