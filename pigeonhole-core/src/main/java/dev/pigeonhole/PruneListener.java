package dev.pigeonhole;

import java.util.List;

/**
 * Sees messages before retention deletes them, to put them elsewhere. What an operator purges does
 * not come here.
 */
@FunctionalInterface
public interface PruneListener {

  /**
   * Called before the deletion is committed, with up to five hundred messages. What it throws keeps
   * them, and they come again later; so may those whose deletion failed afterwards. It holds locks
   * in the meantime: be quick.
   */
  void beforeDeletion(List<PrunedMessage> messages) throws Exception;
}
