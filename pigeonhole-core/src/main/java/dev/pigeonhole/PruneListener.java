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
   * in the meantime: be quick. If it takes longer than an hour, or than a shorter idle limit of the
   * server or the pool, the server ends the transaction, and the messages are kept.
   */
  void beforeDeletion(List<PrunedMessage> messages) throws Exception;
}
