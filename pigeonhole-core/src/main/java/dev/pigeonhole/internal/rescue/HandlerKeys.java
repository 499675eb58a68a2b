package dev.pigeonhole.internal.rescue;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Nodes;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The handler keys of this node and their numbers in the rows. The database may have lost them
 * since the inbox was built: after a failover to a standby that lags behind, or with a restored
 * backup.
 */
public final class HandlerKeys {
  private final Nodes nodes;
  private final List<List<HandlerId>> ids;

  /**
   * @param ids for each handler the current key, then the former ones
   */
  public HandlerKeys(Nodes nodes, List<List<HandlerId>> ids) {
    this.nodes = nodes;
    this.ids = ids;
  }

  /** The families that this node can run. */
  Set<Integer> families() {
    Set<Integer> families = new LinkedHashSet<>();
    ids.forEach(keys -> keys.forEach(id -> families.add(id.family())));
    return families;
  }

  /**
   * Registers the keys that the database has lost.
   *
   * @throws ConfigurationException if a key has another number in the database now
   */
  void registerAgain() {
    List<List<HandlerId>> present =
        nodes.register(
            ids.stream().map(keys -> keys.stream().map(HandlerId::key).toList()).toList());
    for (int i = 0; i < ids.size(); i++) {
      if (!present.get(i).equals(ids.get(i))) {
        throw new ConfigurationException(
            ErrorCode.HANDLER_NUMBER_CHANGED,
            ("Handler '%s' has the numbers %s in the database and %s on this node: the database was"
                    + " restored, or replaced by a standby, while the node ran. The node starts no"
                    + " deliveries. Restart the process.")
                .formatted(ids.get(i).get(0).key(), present.get(i), ids.get(i)));
      }
    }
  }
}
