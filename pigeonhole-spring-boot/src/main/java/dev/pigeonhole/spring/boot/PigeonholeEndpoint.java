package dev.pigeonhole.spring.boot;

import dev.pigeonhole.InboxException;
import dev.pigeonhole.admin.BulkChange;
import dev.pigeonhole.admin.ChangePreview;
import dev.pigeonhole.admin.ChangeResult;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DeliverySelection;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.Overview;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.store.StoreException;
import java.security.Principal;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;

/**
 * How inboxes and outboxes stand, and what operators do about it. It never shows what messages
 * carry, nor the texts of exceptions, which may quote it. Answers are written by the actuator's own
 * mapper, so that they look the same whatever the application does with its JSON.
 */
@Endpoint(id = "pigeonhole")
public final class PigeonholeEndpoint {
  private static final String NOBODY = "actuator";

  private final Watched.Supplier watched;

  PigeonholeEndpoint(Watched.Supplier watched) {
    this.watched = watched;
  }

  /** How all of them stand, by name. */
  @ReadOperation
  public Map<String, Standing> all() {
    Map<String, Standing> all = new LinkedHashMap<>();
    for (Watched each : watched.get()) {
      all.put(each.name(), standing(each));
    }
    return OperationResponseBody.of(all);
  }

  /** One of them with its nodes, what is paused, and what its poisoned deliveries failed with. */
  @ReadOperation
  public @Nullable Detail one(@Selector String inbox) {
    return find(inbox).map(PigeonholeEndpoint::detail).orElse(null);
  }

  /**
   * Retries, completes or discards poisoned deliveries, pauses or resumes a handler, or wakes the
   * inbox.
   *
   * @param reason is kept in the audit, with the name of whoever is logged in
   * @param actor who did it, where nobody is logged in
   * @param dryRun only tells how many would be changed
   */
  @WriteOperation
  public Change change(
      SecurityContext security,
      @Selector String inbox,
      String action,
      @Nullable String reason,
      @Nullable String actor,
      @Nullable String handler,
      @Nullable String type,
      @Nullable String channel,
      @Nullable String source,
      @Nullable String id,
      @Nullable String failedWith,
      @Nullable Boolean dryRun) {
    // Not null: that would be answered with 204, as if it had been done.
    Watched target = find(inbox).orElseThrow(() -> wrong(unknown(inbox)));
    try {
      InboxAdmin admin = target.admin().as(actor(security, actor));
      boolean dry = Boolean.TRUE.equals(dryRun);
      Filter filter = new Filter(handler, type, channel, source, id, failedWith);
      return switch (action.toLowerCase(Locale.ROOT)) {
        case "retry" -> many(filter.of(admin).retry(given("reason", reason)), dry);
        case "complete" -> many(filter.of(admin).complete(given("reason", reason)), dry);
        case "discard" -> many(filter.of(admin).discard(given("reason", reason)), dry);
        case "pause" -> one(dry, admin::pause, given("handler", handler), given("reason", reason));
        case "resume" ->
            one(dry, admin::resume, given("handler", handler), given("reason", reason));
        case "wake" -> {
          if (!dry) {
            target.wake().run();
          }
          yield Change.of(false, dry);
        }
        default ->
            throw wrong(
                "There is no action '%s'. Use retry, complete, discard, pause, resume or wake."
                    .formatted(action));
      };
    } catch (StoreException e) {
      throw e; // nobody has asked for anything wrong
    } catch (InboxException e) {
      throw wrong(String.valueOf(e.getMessage()));
    }
  }

  private String unknown(String name) {
    return "There is no inbox and no outbox '%s'. There are: %s."
        .formatted(
            name, watched.get().stream().map(Watched::name).collect(Collectors.joining(", ")));
  }

  private Optional<Watched> find(String name) {
    return watched.get().stream().filter(each -> each.name().equals(name)).findFirst();
  }

  private static String actor(SecurityContext security, @Nullable String said) {
    Principal principal = security.getPrincipal();
    if (principal != null) {
      return principal.getName();
    }
    return said == null || said.isBlank() ? NOBODY : said;
  }

  private static String given(String name, @Nullable String value) {
    if (value == null || value.isBlank()) {
      throw wrong("This action needs a %s.".formatted(name));
    }
    return value;
  }

  private static InvalidEndpointRequestException wrong(String text) {
    return new InvalidEndpointRequestException(text, text);
  }

  private static Change one(
      boolean dry, BiPredicate<String, String> change, String handler, String reason) {
    return Change.of(!dry && change.test(handler, reason), dry);
  }

  private static Change many(BulkChange change, boolean dry) {
    if (dry) {
      ChangePreview preview = change.dryRun();
      return new Change(null, preview.chosen().value(), 0, Map.of(), true);
    }
    ChangeResult result = change.run();
    return new Change(
        result.operation(), result.matched(), result.changed(), result.skipped(), false);
  }

  private static Standing standing(Watched of) {
    Overview overview = of.admin().overview(Count.MOST);
    Map<String, Duration> lag =
        overview.lag().stream()
            .collect(Collectors.toMap(HandlerLag::handler, HandlerLag::lag, (one, two) -> one));
    Map<String, Handler> handlers = new LinkedHashMap<>();
    for (HandlerCounts each : overview.counts()) {
      handlers.put(
          each.handler(), Handler.of(each, lag.getOrDefault(each.handler(), Duration.ZERO)));
    }
    return new Standing(
        of.kind(),
        of.run().map(LatestRun::working).orElse(null),
        overview.ownedLanes(),
        overview.unownedLanes(),
        overview.conflicts().value(),
        handlers);
  }

  private static Detail detail(Watched of) {
    InboxAdmin admin = of.admin();
    return new Detail(
        standing(of),
        admin.nodes().stream()
            .map(each -> new Node(each.name(), each.state().name(), each.handlers(), each.lanes()))
            .toList(),
        admin.paused(),
        admin.deliveries().poisoned().failureGroups().stream()
            .map(
                each ->
                    new Failures(
                        each.fingerprint(),
                        each.type(),
                        each.deliveries().value(),
                        each.handlers(),
                        each.first(),
                        each.last()))
            .toList());
  }

  private record Filter(
      @Nullable String handler,
      @Nullable String type,
      @Nullable String channel,
      @Nullable String source,
      @Nullable String id,
      @Nullable String failedWith) {

    DeliverySelection of(InboxAdmin admin) {
      DeliverySelection chosen = admin.deliveries().poisoned();
      chosen = handler == null ? chosen : chosen.handler(handler);
      chosen = type == null ? chosen : chosen.type(type);
      chosen = channel == null ? chosen : chosen.channel(channel);
      chosen = source == null ? chosen : chosen.source(source);
      chosen = id == null ? chosen : chosen.id(id);
      return failedWith == null ? chosen : chosen.failedWith(failedWith);
    }
  }

  /**
   * How one of them stands.
   *
   * @param kind {@code inbox} or {@code outbox}
   * @param working whether it runs on this node as it should; null for one that the application
   *     starts by itself
   */
  public record Standing(
      String kind,
      @Nullable Boolean working,
      int ownedLanes,
      int unownedLanes,
      long conflicts,
      Map<String, Handler> handlers)
      implements OperationResponseBody {}

  /**
   * Deliveries of a handler, each state counted up to 10,000.
   *
   * @param lag since when the oldest that could run has been ready
   */
  public record Handler(
      long pending,
      long scheduled,
      long paused,
      long held,
      long blocked,
      long poisoned,
      Duration lag) {

    static Handler of(HandlerCounts counts, Duration lag) {
      return new Handler(
          counts.pending().value(),
          counts.scheduled().value(),
          counts.paused().value(),
          counts.held().value(),
          counts.blocked().value(),
          counts.poisoned().value(),
          lag);
    }
  }

  /** One of them, in full. */
  public record Detail(
      Standing standing, List<Node> nodes, List<Pause> paused, List<Failures> failures)
      implements OperationResponseBody {}

  /** A node, as others see it. */
  public record Node(String name, String state, List<String> handlers, int lanes) {}

  /**
   * Poisoned deliveries that failed alike.
   *
   * @param failedWith what a change takes to choose them
   */
  public record Failures(
      String failedWith,
      String type,
      long deliveries,
      List<String> handlers,
      Instant first,
      Instant last) {}

  /**
   * What came of a change.
   *
   * @param operation its name in the audit; null if there is none
   */
  public record Change(
      @Nullable String operation,
      long matched,
      long changed,
      Map<String, Long> skipped,
      boolean dryRun)
      implements OperationResponseBody {

    static Change of(boolean changed, boolean dry) {
      return new Change(null, changed ? 1 : 0, changed ? 1 : 0, Map.of(), dry);
    }
  }
}
