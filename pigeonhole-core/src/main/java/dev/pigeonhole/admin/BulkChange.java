package dev.pigeonhole.admin;

/**
 * A change to many at once. Nothing happens before {@link #run}. It goes in steps of 100, oldest
 * first, each in a commit of its own with its audit rows, and meets everything that was chosen at
 * most once. Immutable.
 */
public interface BulkChange {

  /** As many as a change takes unless it is told otherwise. */
  int MOST = 10_000;

  /** Changes no more than so many in a second. Default: no limit. */
  BulkChange perSecond(int most);

  /**
   * How many may be chosen. If there are more, {@link #run} refuses and changes nothing. Default
   * {@link #MOST}.
   */
  BulkChange atMost(int most);

  /**
   * A name for the change, chosen by whoever asks for it. Running it again under the same name goes
   * on where it ended, or, if it was finished, only tells what came of it. An inbox with retention
   * forgets it 90 days after it has finished; then the name is free for another change. Default: a
   * random one, which {@link ChangeResult#operation} tells.
   */
  BulkChange operation(String name);

  /** What {@link #run} would choose now; changes nothing. */
  ChangePreview dryRun();

  /**
   * Does it, and answers when it is done.
   *
   * @throws dev.pigeonhole.InboxException if nothing narrows the choice, if there are too many, or
   *     if the name belongs to another change
   */
  ChangeResult run();
}
