package dev.pigeonhole.tck;

import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.StoredMessage;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Retention as a test wants it: of any age, at any time, by the verdict that it is given. */
public class Judge implements Pruning {
  private final Function<Finished, Fate> verdict;
  private final @Nullable Consumer<List<StoredMessage>> archive;

  /**
   * @param archive sees what is about to be deleted; null if nobody wants to
   */
  public Judge(Function<Finished, Fate> verdict, @Nullable Consumer<List<StoredMessage>> archive) {
    this.verdict = verdict;
    this.archive = archive;
  }

  @Override
  public Walk walk() {
    return Walk.INBOX;
  }

  @Override
  public Duration youngest() {
    return Duration.ZERO;
  }

  @Override
  public Duration betweenRounds() {
    return Duration.ZERO;
  }

  @Override
  public Fate judge(Finished message) {
    return verdict.apply(message);
  }

  @Override
  public Duration keepOperations() {
    return Duration.ofDays(1);
  }

  @Override
  public boolean archives() {
    return archive != null;
  }

  @Override
  public void archive(List<StoredMessage> messages) {
    if (archive == null) {
      throw new AssertionError("Nobody wants to see what is deleted.");
    }
    archive.accept(messages);
  }
}
