package dev.pigeonhole.proofs;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.Ledger;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * Sends numbered messages of its own keys at a steady pace. It sends the next message of a key only
 * after the last one was answered, and sends again whatever was not: the order it claims is the
 * order the inbox promises to keep.
 */
final class Producer implements Runnable {
  private static final String TEXT = "text/plain";

  private final Inbox inbox;
  private final Ledger ledger;
  private final int number;
  private final int messages;
  private final int keys;
  private final long nanosBetween;
  private final Random random;
  private final List<Message> sent = new ArrayList<>();
  private int unanswered;

  Producer(
      Inbox inbox,
      Ledger ledger,
      int number,
      int messages,
      int keys,
      long nanosBetween,
      long seed) {
    this.inbox = inbox;
    this.ledger = ledger;
    this.number = number;
    this.messages = messages;
    this.keys = keys;
    this.nanosBetween = nanosBetween;
    this.random = new Random(seed + number);
  }

  @Override
  public void run() {
    int[] next = new int[keys];
    long due = System.nanoTime();
    for (int i = 0; i < messages; i++) {
      int key = random.nextInt(keys);
      String orderingKey = "k" + number + "-" + key;
      String id = orderingKey + "-" + next[key];
      Message message =
          Message.of(id, orderingKey + " " + next[key]++).from("producer").orderedBy(orderingKey);
      ledger.append("SEND " + id);
      send(message, id);
      sent.add(message);
      if (i % 4 == 0) {
        String noise = "n" + number + "-" + i;
        ledger.append("NOISE " + noise);
        send(Worker.NOISE, Message.encoded(noise, "noise", (noise + " 0").getBytes(UTF_8), TEXT));
      }
      if (random.nextInt(10) == 0) {
        send(sent.get(random.nextInt(sent.size())), "again");
      }
      due += nanosBetween;
      pause(due - System.nanoTime());
    }
  }

  int unanswered() {
    return unanswered;
  }

  private void send(Message message, String id) {
    Acceptance answer = send(Worker.CHANNEL, message);
    ledger.append("ANSWER " + id + " " + answer.getClass().getSimpleName());
  }

  private Acceptance send(String channel, Message message) {
    while (true) {
      try {
        return inbox.accept(channel, message);
      } catch (StoreException e) {
        unanswered++;
        pause(TimeUnit.MILLISECONDS.toNanos(100));
      }
    }
  }

  private static void pause(long nanos) {
    if (nanos > 0) {
      try {
        TimeUnit.NANOSECONDS.sleep(nanos);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
