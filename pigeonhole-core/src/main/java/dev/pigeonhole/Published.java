package dev.pigeonhole;

import java.util.List;

/**
 * What became of a published message.
 *
 * @param answers one for each inbox channel that takes its type, and one for each direct channel
 *     that had to refuse it; a direct channel that ran its handlers keeps nothing and answers
 *     nothing
 */
public record Published(List<Answer> answers) {

  /**
   * The answer of one channel.
   *
   * @param inbox the inbox's name; {@code direct} for a direct channel
   */
  public record Answer(String inbox, String channel, Acceptance acceptance) {}

  public Published {
    answers = List.copyOf(answers);
  }

  /** The answers alone, in the order of inboxes and channels. */
  public List<Acceptance> acceptances() {
    return answers.stream().map(Answer::acceptance).toList();
  }

  /** Whether some channel refused it; the others have it nevertheless. */
  public boolean anyRejected() {
    return answers.stream().anyMatch(each -> each.acceptance() instanceof Acceptance.Rejected);
  }
}
