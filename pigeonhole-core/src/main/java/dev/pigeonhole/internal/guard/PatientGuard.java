package dev.pigeonhole.internal.guard;

import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBody;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.codec.PayloadCodec;
import java.sql.Connection;
import java.time.Duration;
import java.util.Collection;

/** A guard whose callers wait for another time. Everything else is that of the guard behind it. */
record PatientGuard(DefaultGuard guard, Duration patience) implements Guard {

  @Override
  public Guard waitingAtMost(Duration time) {
    return guard.waitingAtMost(time);
  }

  @Override
  public <R, X extends Exception> Guarded<R> run(GuardKey key, GuardBody<R, X> body) throws X {
    return guard.guard(patience, null, key, null, body);
  }

  @Override
  public <R, X extends Exception> Guarded<R> answer(
      GuardKey key, Class<R> type, GuardBody<R, X> body) throws X {
    return guard.guard(patience, null, key, type, body);
  }

  @Override
  public <R, X extends Exception> Guarded<R> run(
      Connection connection, GuardKey key, GuardBody<R, X> body) throws X {
    return guard.guard(patience, connection, key, null, body);
  }

  @Override
  public <R, X extends Exception> Guarded<R> answer(
      Connection connection, GuardKey key, Class<R> type, GuardBody<R, X> body) throws X {
    return guard.guard(patience, connection, key, type, body);
  }

  @Override
  public void prepare(Collection<HandlerKey> handlers) {
    guard.prepare(handlers);
  }

  @Override
  public PayloadCodec codec() {
    return guard.codec();
  }

  /** What runs in the background belongs to the guard behind it. */
  @Override
  public void close() {}
}
