package dev.pigeonhole.http;

import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBody;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.GuardTransaction;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MissingKeyException;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.internal.guard.NeverKept;
import java.net.URI;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Runs a request once for each idempotency key and gives its answer to every repeat, as the draft
 * for the {@code Idempotency-Key} header describes it.
 *
 * <pre>{@code
 * IdempotentEndpoint payments = IdempotentEndpoint.named("post-payment", guard);
 *
 * HttpAnswer answer = payments.handle(call, tx -> pay(tx.connection(), call));
 * }</pre>
 *
 * <p>What the body writes, the receipt of the key and the answer commit together. A repeat gets
 * status, body and the chosen headers of the first answer, and with them {@value #REPLAYED}{@code :
 * true}. Without an answer to give, the client is told why in {@code application/problem+json} with
 * a {@code code} of {@link dev.pigeonhole.ErrorCode}: 400 without a usable key, 409 with {@code
 * Retry-After} while the first request is still running after the guard's {@code waitAtMost}, 422
 * for a key that was used for another request, 410 for a request that was done and whose answer is
 * no longer kept, 409 for one that waits for an operator.
 *
 * <p>Immutable: each option answers another endpoint. Safe for many threads.
 */
public final class IdempotentEndpoint {
  /** The header that tells a repeat's answer from the first. */
  public static final String REPLAYED = "Idempotent-Replayed";

  /**
   * The source of all keys. Endpoints are told apart by the handler of the receipt, which knows its
   * former names; a name in here would make every key new when it changes. No channel is called so.
   */
  private static final String KEYS = "http keys";

  private static final List<String> ALWAYS_KEPT =
      List.of("Content-Type", "Content-Encoding", "Content-Language", "Location");

  private final HandlerKey name;
  private final Guard guard;
  private final String header;
  private final @Nullable Function<HttpCall, String> scope;
  private final Set<String> kept;
  private final boolean failuresKept;
  private final @Nullable String documentation;
  private final Problems problems;

  private IdempotentEndpoint(
      HandlerKey name,
      Guard guard,
      String header,
      @Nullable Function<HttpCall, String> scope,
      Set<String> kept,
      boolean failuresKept,
      @Nullable String documentation) {
    this.name = Objects.requireNonNull(name, "name");
    this.guard = Objects.requireNonNull(guard, "guard");
    this.header = HeaderLines.checkName(header);
    this.scope = scope;
    this.kept = kept;
    this.failuresKept = failuresKept;
    this.documentation = documentation;
    this.problems = new Problems(header, documentation);
  }

  /**
   * An endpoint with the defaults of the draft.
   *
   * @param name the handler key that receipts stand under, unique in the application. Endpoints
   *     know nothing of each other's keys; only while a request with a new key runs, others with
   *     the same key wait for it
   * @param guard decides how long copies wait, how long and how large answers are kept, and whether
   *     a request without a key is refused or run every time ({@code missingKey})
   */
  public static IdempotentEndpoint named(String name, Guard guard) {
    return named(HandlerKey.of(name), guard);
  }

  /** The same for an endpoint that was once called something else. */
  public static IdempotentEndpoint named(HandlerKey name, Guard guard) {
    return new IdempotentEndpoint(
        name, guard, "Idempotency-Key", null, names(ALWAYS_KEPT), false, null);
  }

  /**
   * The key that a client has sent, quoted or bare; for whoever answers requests in another way.
   *
   * @param lines the values of the header
   * @return null where there is no such header
   * @throws InboxException with the code of what is wrong with it
   */
  public static @Nullable String keyIn(List<String> lines) {
    try {
      return KeyHeader.read(lines);
    } catch (KeyRefusedException e) {
      throw new InboxException(e.code, "The header %s.".formatted(e.getMessage()));
    }
  }

  /** The header that carries the key. Default {@code Idempotency-Key}. */
  public IdempotentEndpoint header(String header) {
    return new IdempotentEndpoint(name, guard, header, scope, kept, failuresKept, documentation);
  }

  /**
   * Whose keys they are, such as the tenant or the account that was authenticated: keys of two
   * scopes never meet. Without it all clients share one scope, and whoever guesses a key together
   * with its request is given the answer.
   *
   * @param scope answers a short text for every request; it is stored
   */
  public IdempotentEndpoint scopedBy(Function<HttpCall, String> scope) {
    return new IdempotentEndpoint(name, guard, header, scope, kept, failuresKept, documentation);
  }

  /**
   * Keeps these headers of an answer for its repeats, too. {@code Content-Type}, {@code
   * Content-Encoding}, {@code Content-Language} and {@code Location} are always kept.
   */
  public IdempotentEndpoint keepingHeaders(String... names) {
    Set<String> more = names(kept);
    more.addAll(names(List.of(names)));
    return new IdempotentEndpoint(name, guard, header, scope, more, failuresKept, documentation);
  }

  /**
   * Commits and keeps answers with a status of 500 and above like all others. Without it they are
   * sent, but the run is rolled back, and a repeat runs again.
   */
  public IdempotentEndpoint keepingFailures() {
    return new IdempotentEndpoint(name, guard, header, scope, kept, true, documentation);
  }

  /** Where clients can read about keys: the {@code type} of every problem. */
  public IdempotentEndpoint documentedAt(URI page) {
    return new IdempotentEndpoint(name, guard, header, scope, kept, failuresKept, page.toString());
  }

  private static Set<String> names(Iterable<String> names) {
    Set<String> set = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
    names.forEach(name -> set.add(HeaderLines.checkName(name)));
    return set;
  }

  /**
   * Answers a request. The body runs in the transaction of the guard, unless the key is known; it
   * may be called again after a deadlock or a lost connection, when nothing of the first call was
   * kept.
   *
   * @throws X what the body throws, as it is, after everything was rolled back
   * @throws dev.pigeonhole.KeptFailureException if the body has thrown, and the guard keeps that
   * @throws dev.pigeonhole.InboxException if the answer is too large to be kept ({@code PH-GRD-02})
   *     or the run took too long ({@code PH-GRD-03}), after everything was rolled back
   * @throws dev.pigeonhole.store.StoreException if the database cannot do it now: answer 503, a
   *     repeat finds out
   */
  public <X extends Exception> HttpAnswer handle(HttpCall call, GuardBody<HttpAnswer, X> body)
      throws X {
    String key;
    try {
      key = KeyHeader.read(call.headers().getOrDefault(header, List.of()));
    } catch (KeyRefusedException e) {
      return problems.refused(e);
    }
    Run<X> run = new Run<>(body);
    try {
      return answer(guard.answer(guardKey(call, key), byte[].class, run), run);
    } catch (NotKeptException e) {
      return run.answer();
    } catch (MissingKeyException e) {
      if (key != null || run.began) {
        throw e; // of a guard that the body has called
      }
      return problems.missing();
    }
  }

  private GuardKey guardKey(HttpCall call, @Nullable String key) {
    String source = KEYS;
    if (scope != null) {
      String whose = scope.apply(call);
      if (whose == null || whose.isBlank()) {
        throw new IllegalStateException(
            "The scope of '%s' is empty, so the keys of all clients would meet."
                .formatted(name.key()));
      }
      source += " of " + whose;
    }
    return GuardKey.ofMessage(name.key(), source, key)
        .formerly(name.formerKeys().toArray(String[]::new))
        .request(Fingerprint.of(call));
  }

  private HttpAnswer answer(Guarded<byte[]> result, Run<?> run) {
    if (result instanceof Guarded.Ran) {
      return run.answer();
    }
    if (result instanceof Guarded.Repeat<byte[]> repeat) {
      if (repeat.answer().isPresent()) {
        return AnswerFormat.read(repeat.answer().get()).with(REPLAYED, "true");
      }
      return repeat.state() == DeliveryState.COMPLETED
          ? problems.gone(repeat.firstRun())
          : problems.withOperator(repeat.state());
    }
    return result instanceof Guarded.Busy ? problems.running() : problems.reused();
  }

  /** Rolls back a run whose answer is sent and not kept. */
  private static final class NotKeptException extends RuntimeException implements NeverKept {
    private static final long serialVersionUID = 1L;

    NotKeptException(String name, int status) {
      super(
          "'%s' has answered %d, so it was rolled back".formatted(name, status),
          null,
          false,
          false); // it goes nowhere, so it needs no trace
    }
  }

  /** One request: its body, and what it answered last. */
  private final class Run<X extends Exception> implements GuardBody<byte[], X> {
    private final GuardBody<HttpAnswer, X> body;
    private boolean began;
    private @Nullable HttpAnswer answer;

    Run(GuardBody<HttpAnswer, X> body) {
      this.body = body;
    }

    @Override
    public byte[] run(GuardTransaction tx) throws X {
      began = true;
      HttpAnswer given = body.run(tx);
      if (given == null) {
        throw new IllegalStateException("'%s' has not answered".formatted(name.key()));
      }
      answer = given;
      if (given.status() >= 500 && !failuresKept) {
        throw new NotKeptException(name.key(), given.status());
      }
      return AnswerFormat.write(given, kept);
    }

    HttpAnswer answer() {
      return Objects.requireNonNull(answer, "a run has an answer");
    }
  }
}
