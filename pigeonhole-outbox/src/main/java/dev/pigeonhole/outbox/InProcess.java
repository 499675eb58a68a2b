package dev.pigeonhole.outbox;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.SendThreads;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Sends into an inbox of this process, wherever it keeps its messages: it confirms by accepting,
 * and what comes again is a repeat there. For an inbox in the same database, {@link
 * OutboxBuilder#into(Class, dev.pigeonhole.transport.Publisher)} saves the way.
 */
public final class InProcess implements Transport {
  private final String destination;
  private final Acceptor channel;
  private final SendThreads threads;

  private InProcess(String destination, Acceptor channel) {
    this.destination = destination;
    this.channel = channel;
    this.threads = new SendThreads("pigeonhole-" + destination + "-in-process");
  }

  /**
   * Into this channel, whose mapper reads what comes.
   *
   * @throws InboxException with {@code PH-CFG-17} if the inbox has no such channel
   */
  public static Transport into(Inbox inbox, String channel) {
    return new InProcess(inbox.name() + "/" + channel, inbox.acceptor(channel));
  }

  @Override
  public String kind() {
    return "inbox";
  }

  @Override
  public String destination() {
    return destination;
  }

  @Override
  public List<Sent> send(List<Envelope> envelopes, Duration timeout) throws InterruptedException {
    if (envelopes.isEmpty()) {
      return List.of();
    }
    long end = System.nanoTime() + timeout.toNanos();
    try {
      // On another thread: a database that hangs can neither be interrupted nor told to hurry.
      FutureTask<List<Disposition>> accepting =
          threads.begin(() -> channel.accept(envelopes), timeout);
      List<Disposition> answers = accepting.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
      return answers.stream().map(this::outcome).toList();
    } catch (TimeoutException e) {
      Sent failed =
          new Sent.Failed(
              new InboxException(
                  ErrorCode.SEND_UNCONFIRMED,
                  "%s has not answered within %s. It is tried again under the same id."
                      .formatted(destination, timeout)));
      return envelopes.stream().map(each -> failed).toList();
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      if (cause instanceof Error error) {
        throw error;
      }
      Sent failed = new Sent.Failed(cause == null ? e : cause);
      return envelopes.stream().map(each -> failed).toList();
    }
  }

  @Override
  public void close() {
    threads.close();
  }

  private Sent outcome(Disposition answer) {
    if (answer instanceof Disposition.Refused refused) {
      String reason = withoutCode(refused.code(), refused.reason());
      return refused.code() == ErrorCode.TYPE_UNHANDLED
          ? new Sent.Unroutable("%s: %s".formatted(destination, reason))
          : new Sent.Failed(new PoisonException(refused.code(), reason, null));
    }
    if (answer instanceof Disposition.Later later) {
      return new Sent.Failed(
          new InboxException(later.code(), withoutCode(later.code(), later.reason())));
    }
    return new Sent.Confirmed();
  }

  /** An exception puts it there again. */
  private static String withoutCode(ErrorCode code, String reason) {
    String prefix = code.text() + ": ";
    return reason.startsWith(prefix) ? reason.substring(prefix.length()) : reason;
  }
}
