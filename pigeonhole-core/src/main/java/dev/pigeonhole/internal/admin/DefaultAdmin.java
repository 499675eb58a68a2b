package dev.pigeonhole.internal.admin;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.admin.AuditEntry;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.admin.ChangeResult;
import dev.pigeonhole.admin.ConflictDetail;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.Content;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DeliverySelection;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.DrainCheck;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.LaneView;
import dev.pigeonhole.admin.MessageDetail;
import dev.pigeonhole.admin.MessageSelection;
import dev.pigeonhole.admin.NodeView;
import dev.pigeonhole.admin.Overview;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.admin.TypeCounts;
import dev.pigeonhole.internal.registry.Hashes;
import dev.pigeonhole.internal.registry.HeaderFormat;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.EditedContent;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.MessageState;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.StoredMessage;
import dev.pigeonhole.store.Versions;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Administration over the store: keys are resolved by what the store has ever seen. */
public final class DefaultAdmin implements InboxAdmin {
  private static final int MOST_COUNTED = 1_000_000_000;
  private static final int MOST_CONFLICTS = 1_000;

  private final Administration admin;
  private final BiFunction<String, Message, Acceptance> accepting;
  private final int maxPayload;

  /**
   * @param accepting channel and message → what became of it
   */
  public DefaultAdmin(
      InboxStore store,
      BiFunction<String, Message, Acceptance> accepting,
      int maxPayload,
      String actor) {
    this(new Administration(store, actor, Sleeper.REAL), accepting, maxPayload);
  }

  private DefaultAdmin(
      Administration admin, BiFunction<String, Message, Acceptance> accepting, int maxPayload) {
    this.admin = admin;
    this.accepting = accepting;
    this.maxPayload = maxPayload;
  }

  @Override
  public InboxAdmin as(String other) {
    return new DefaultAdmin(admin.as(other), accepting, maxPayload);
  }

  private AdminQueries queries() {
    return admin.queries();
  }

  private HandlerId id(String handler) {
    return admin.handler(handler);
  }

  private static String source(String source) {
    return Words.checked("source", source);
  }

  private static String messageId(String id) {
    return Words.checked("id", id);
  }

  // ---- seeing

  @Override
  public List<HandlerCounts> counts() {
    return counts(Count.MOST);
  }

  @Override
  public List<HandlerCounts> counts(int most) {
    Standings standings = new Standings(admin.store());
    int bound = Math.max(1, Math.min(most, MOST_COUNTED));
    return queries().counts(bound).stream().map(standings::seen).toList();
  }

  @Override
  public List<TypeCounts> countsByType() {
    return TypeTally.of(queries().countsByType(Count.MOST + 1), Count.MOST);
  }

  @Override
  public List<HandlerLag> lag() {
    return queries().lag();
  }

  @Override
  public Overview overview(int most) {
    Map<Long, NodeRow> living =
        queries().nodes().stream()
            .filter(NodeRow::alive)
            .collect(Collectors.toMap(NodeRow::incarnation, node -> node));
    Set<Integer> known =
        living.values().stream()
            .flatMap(node -> node.handlers().stream())
            .collect(Collectors.toSet());
    List<CellRow> cells =
        queries().cells().stream()
            .filter(each -> living.isEmpty() || known.contains(each.cell().handler()))
            .toList();
    int owned = (int) cells.stream().filter(each -> living.containsKey(each.owner())).count();
    return new Overview(
        counts(most),
        lag(),
        owned,
        cells.size() - owned,
        Count.upTo(MOST_CONFLICTS, queries().conflicts(MOST_CONFLICTS + 1).size()));
  }

  @Override
  public DeliverySelection deliveries() {
    return new ChosenDeliveries(admin);
  }

  @Override
  public MessageSelection messages() {
    return new ChosenMessages(admin);
  }

  @Override
  public Optional<DeliveryView> find(String source, String id, String handler) {
    return queries()
        .find(source(source), messageId(id), id(handler).family())
        .map(new Standings(admin.store())::seen);
  }

  @Override
  public Optional<MessageDetail> message(String source, String id) {
    return queries().message(source(source), messageId(id)).map(this::detail);
  }

  private MessageDetail detail(MessageState state) {
    Standings standings = new Standings(admin.store());
    StoredMessage message = state.message();
    return new MessageDetail(
        state.view(),
        state.lane(),
        HeaderFormat.decode(message.headers()),
        content(message.content(), message.contentType()),
        Optional.ofNullable(message.occurredAt()),
        state.deliveries().stream()
            .map(
                each ->
                    new MessageDetail.Delivery(
                        standings.seen(each.view()), each.failures(), each.edit()))
            .toList(),
        state.conflicts());
  }

  private static Optional<Content> content(byte @Nullable [] bytes, String type) {
    return bytes == null ? Optional.empty() : Optional.of(new Content(bytes, type));
  }

  @Override
  public List<NodeView> nodes() {
    Collection<HandlerId> handlers = admin.store().maintenance().handlers();
    Map<Long, Long> lanes =
        queries().cells().stream()
            .collect(Collectors.groupingBy(CellRow::owner, Collectors.counting()));
    return queries().nodes().stream()
        .map(
            node ->
                new NodeView(
                    node.incarnation(),
                    node.name(),
                    NodeView.State.valueOf(node.state().name()),
                    handlers.stream()
                        .filter(each -> node.handlers().contains(each.family()))
                        .map(HandlerId::key)
                        .sorted()
                        .toList(),
                    lanes.getOrDefault(node.incarnation(), 0L).intValue()))
        .toList();
  }

  @Override
  public List<LaneView> lanes(String handler) {
    int family = id(handler).family();
    Map<Long, String> names =
        queries().nodes().stream().collect(Collectors.toMap(NodeRow::incarnation, NodeRow::name));
    return queries().cells().stream()
        .filter(each -> each.cell().handler() == family)
        .map(
            each ->
                new LaneView(
                    handler,
                    each.cell().lane(),
                    Optional.ofNullable(names.get(each.owner())),
                    each.unclean()))
        .toList();
  }

  @Override
  public List<AuditEntry> audit(int limit) {
    return queries().audit(Cursors.limit(limit));
  }

  @Override
  public List<DeliveryView> poisoned(int limit) {
    return queries().poisoned(null, Cursors.limit(limit));
  }

  @Override
  public List<DeliveryView> poisoned(String handler, int limit) {
    return queries().poisoned(id(handler).family(), Cursors.limit(limit));
  }

  // ---- changing

  @Override
  public boolean retry(String source, String id, String handler, String reason) {
    return queries()
        .retry(
            source(source),
            messageId(id),
            id(handler).family(),
            admin.actor(),
            Administration.checked(reason));
  }

  @Override
  public boolean complete(String source, String id, String handler, String reason) {
    return end(source, id, handler, false, reason);
  }

  @Override
  public boolean discard(String source, String id, String handler, String reason) {
    return end(source, id, handler, true, reason);
  }

  private boolean end(String source, String id, String handler, boolean discarded, String reason) {
    return queries()
        .end(
            source(source),
            messageId(id),
            id(handler).family(),
            discarded,
            admin.actor(),
            Administration.checked(reason));
  }

  @Override
  public boolean editAndRetry(
      String source, String id, String handler, byte[] content, String reason) {
    if (content.length > maxPayload) {
      throw new InboxException(
          ErrorCode.PAYLOAD_TOO_LARGE,
          "The new content has %,d bytes, and this inbox takes at most %,d. Raise maxPayload(…)."
              .formatted(content.length, maxPayload));
    }
    int family = id(handler).family();
    String checked = Administration.checked(reason);
    return queries()
        .message(source(source), messageId(id))
        .map(state -> Hashes.content(state.message().contentType(), content))
        .map(hash -> new EditedContent(content.clone(), hash))
        .map(edit -> queries().edit(source, id, family, edit, admin.actor(), checked))
        .orElse(false);
  }

  @Override
  public boolean replay(String source, String id, String handler, String reason) {
    AdminChange.Effect effect =
        queries()
            .replay(
                source(source),
                messageId(id),
                id(handler),
                admin.actor(),
                Administration.checked(reason));
    if (effect == AdminChange.Effect.TOO_OFTEN) {
      throw new InboxException(
          ErrorCode.REPLAYED_TOO_OFTEN,
          "Message '%s' of '%s' cannot be replayed: %,d deliveries were added to it, which is the"
                  .formatted(Names.shown(id), Names.shown(source), Versions.MOST_LIVES)
              + " limit. Send its content again under another id.");
    }
    return effect == AdminChange.Effect.CHANGED;
  }

  @Override
  public Optional<ChangeResult> operation(String name) {
    return queries().operation(Words.checked("name", name)).map(ChangeOfMany::result);
  }

  @Override
  public List<ConflictView> conflicts(int limit) {
    return queries().conflicts(Cursors.limit(limit));
  }

  @Override
  public Optional<ConflictDetail> conflict(long conflict) {
    return queries()
        .conflict(conflict)
        .map(
            copy ->
                new ConflictDetail(
                    copy.view(),
                    HeaderFormat.decode(copy.headers()),
                    content(copy.content(), copy.view().contentType()),
                    Optional.ofNullable(copy.orderingKey()),
                    Optional.ofNullable(copy.occurredAt())));
  }

  @Override
  public boolean dismissConflict(long conflict, String reason) {
    return queries().dismissConflict(conflict, admin.actor(), Administration.checked(reason));
  }

  @Override
  public Optional<Acceptance> acceptConflict(long conflict, String newId, String reason) {
    return new SecondCopies(admin, accepting)
        .accept(conflict, messageId(newId), Administration.checked(reason));
  }

  @Override
  public boolean pause(String handler, String reason) {
    HandlerId id = id(handler);
    return queries().pause(id.family(), id.keyId(), admin.actor(), Administration.checked(reason));
  }

  @Override
  public boolean resume(String handler, String reason) {
    HandlerId id = id(handler);
    return queries().resume(id.family(), id.keyId(), admin.actor(), Administration.checked(reason));
  }

  @Override
  public List<Pause> paused() {
    return queries().paused();
  }

  @Override
  public DrainCheck drainCheck(String handler) {
    HandlerId asked = id(handler);
    Set<Integer> kin = queries().kin(asked.family());
    Map<String, Count> others = new TreeMap<>();
    for (HandlerId each : admin.store().maintenance().handlers()) {
      if (kin.contains(each.family()) && each.keyId() != asked.keyId()) {
        others.put(each.key(), open(each));
      }
    }
    return new DrainCheck(handler, open(asked), others);
  }

  private Count open(HandlerId handler) {
    return Count.upTo(Count.MOST, queries().open(handler, Count.MOST + 1));
  }

  @Override
  public List<BlockedKey> blockedKeys(int limit) {
    return queries().blockedKeys(Cursors.limit(limit));
  }

  @Override
  public boolean releaseKey(String handler, String orderingKey, String reason) {
    HandlerId id = id(handler);
    return queries()
        .releaseKey(
            id.family(),
            id.keyId(),
            Words.checked("ordering key", orderingKey),
            Hashes.key(orderingKey),
            admin.actor(),
            Administration.checked(reason));
  }
}
