package dev.pigeonhole.benchmarks.peers.dbscheduler;

import com.github.kagkarlsson.scheduler.serializer.Serializer;

/** Spares the scheduler the serialisation of Java, since all data are bytes already. */
final class PlainBytes implements Serializer {

  @Override
  public byte[] serialize(Object data) {
    return (byte[]) data;
  }

  @Override
  public <T> T deserialize(Class<T> type, byte[] stored) {
    return type.cast(stored);
  }
}
