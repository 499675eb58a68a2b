package dev.pigeonhole.internal.rescue;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Maintenance;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The handler keys of this node, with the numbers that its rows bear. The store may have forgotten
 * them since the inbox was built: after a failover to a standby that lags behind, or with a
 * restored backup.
 */
public final class HandlerKeys {
  private final Maintenance store;
  private final List<List<HandlerId>> ids;

  /**
   * @param ids of each handler, the current key first, then the former ones
   */
  public HandlerKeys(Maintenance store, List<List<HandlerId>> ids) {
    this.store = store;
    this.ids = ids;
  }

  /** The families that this node can run. */
  Set<Integer> families() {
    Set<Integer> families = new LinkedHashSet<>();
    ids.forEach(keys -> keys.forEach(id -> families.add(id.family())));
    return families;
  }

  /**
   * Registers what the store has forgotten.
   *
   * @throws ConfigurationException if a key has another number by now
   */
  void registerAgain() {
    List<List<HandlerId>> present =
        store.register(
            ids.stream().map(keys -> keys.stream().map(HandlerId::key).toList()).toList());
    for (int i = 0; i < ids.size(); i++) {
      if (!present.get(i).equals(ids.get(i))) {
        throw new ConfigurationException(
            ErrorCode.HANDLER_NUMBER_CHANGED,
            ("The database knows handler '%s' as %s, and this node as %s: it was restored, or"
                    + " replaced by a standby, while the node ran. The node starts nothing. Restart"
                    + " the process.")
                .formatted(ids.get(i).get(0).key(), present.get(i), ids.get(i)));
      }
    }
  }
}
