package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Message;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Crew;
import dev.pigeonhole.benchmarks.subject.Run;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Every second message that is handed in has been handed in before. */
final class Repeats {

  private static final int PRODUCERS = 2;
  private static final int NEW_IN_BATCH = LoadedInbox.BATCH / 2;

  private Repeats() {}

  static long half(Run run) throws Exception {
    try (LoadedInbox loaded = LoadedInbox.counting(run, Messages.of(run), 1)) {
      loaded.start();
      run.begin();
      Crew.run(PRODUCERS, member -> produce(run, loaded, member));
      return loaded.finish();
    }
  }

  /** Each producer repeats its own messages: the other's might not be there yet. */
  private static void produce(Run run, LoadedInbox loaded, int member) {
    SplittableRandom random = new SplittableRandom(run.seed() + member);
    int all = loaded.messages.count();
    for (int batch = member; batch * NEW_IN_BATCH < all; batch += PRODUCERS) {
      int from = batch * NEW_IN_BATCH;
      int to = Math.min(from + NEW_IN_BATCH, all);
      List<Message> messages = new ArrayList<>();
      for (int i = from; i < to; i++) {
        messages.add(loaded.message(i));
        messages.add(loaded.message(earlier(random, member, batch, i)));
      }
      check(loaded.inbox.accept(Messages.NAME, messages));
    }
  }

  private static int earlier(SplittableRandom random, int member, int batch, int number) {
    int own = batch / PRODUCERS; // batches of this producer before this one
    int from = own == 0 ? batch : member + PRODUCERS * random.nextInt(own);
    int most = own == 0 ? number + 1 - from * NEW_IN_BATCH : NEW_IN_BATCH;
    return from * NEW_IN_BATCH + random.nextInt(most);
  }

  private static void check(List<Acceptance> answers) {
    for (int i = 0; i < answers.size(); i += 2) {
      LoadedInbox.checkNew(answers.get(i));
      if (!(answers.get(i + 1) instanceof Acceptance.Repeat)) {
        throw new IllegalStateException("Not a repeat: " + answers.get(i + 1));
      }
    }
  }
}
