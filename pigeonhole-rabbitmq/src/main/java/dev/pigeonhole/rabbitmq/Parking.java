package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Delivery;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.transport.Sent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Puts deliveries where they wait, or where people look at them: as they came, with a word of why,
 * and only called done when a queue has them. For one thread.
 */
final class Parking {
  private static final int LONGEST_REASON = 2_000;

  /** A delivery, why it is not taken, and whether it is worth another try. */
  record Parked(Delivery delivery, ErrorCode code, String reason, boolean later) {}

  private final Settings settings;

  // Apart, so that a missing exchange for the one does not close the channel of the other; and not
  // on the connection of the consumer, which the broker would stop reading in an alarm.
  private final Link retries;
  private final Link refusals;

  Parking(Settings settings) {
    this.settings = settings;
    this.retries = new Link(settings.connector(), "pigeonhole-retries");
    this.refusals = new Link(settings.connector(), "pigeonhole-dead-letters");
  }

  /** Whether something that is for later has a place to wait at. */
  boolean takesLater() {
    return settings.maxRetries() > 0;
  }

  /** Whether it gets another try, and is not refused. */
  boolean retries(Parked parked) {
    return parked.later() && retriesOf(parked.delivery()) < settings.maxRetries();
  }

  /**
   * Says of each whether a queue has it now, so that it may be acknowledged. Everything else has to
   * stay where it is. What cannot be written as it came is refused without its headers: it would
   * never leave, and keep all that is behind it.
   *
   * @param parked all of them for {@link #retries}, or none
   */
  List<Sent> park(List<Parked> parked) throws InterruptedException {
    boolean again = retries(parked.get(0));
    if (!again && settings.deadLetters() == null) {
      Sent nowhere = new Sent.Unroutable(noPlace(parked.get(0)));
      return parked.stream().map(it -> nowhere).toList();
    }
    List<Sent> answers =
        new ArrayList<>(
            publish(again ? retries : refusals, parked.stream().map(this::message).toList()));
    for (int i = 0; i < answers.size(); i++) {
      if (settings.deadLetters() != null && isUnwritable(answers.get(i))) {
        Publisher.Outgoing bare = bare(parked.get(i), " AMQP cannot carry them and this reason.");
        answers.set(i, publish(refusals, List.of(bare)).get(0));
      }
    }
    return answers;
  }

  private List<Sent> publish(Link link, List<Publisher.Outgoing> messages)
      throws InterruptedException {
    Duration patience = settings.longestParking();
    try {
      return link.publisher(patience).publish(messages, patience);
    } catch (InboxException e) {
      Sent failed = new Sent.Failed(e);
      return messages.stream().map(it -> failed).toList();
    }
  }

  private static boolean isUnwritable(Sent answer) {
    return answer instanceof Sent.Failed failed && failed.cause() instanceof PoisonException;
  }

  private String noPlace(Parked parked) {
    return ("%s: Queue '%s' has a message that is refused, and there is no exchange for those."
            + " Name one with .deadLetters(…). It is refused because of %s")
        .formatted(ErrorCode.DEAD_LETTERS_UNROUTABLE.text(), settings.queue(), parked.reason());
  }

  private Publisher.Outgoing message(Parked parked) {
    BasicProperties properties = parked.delivery().getProperties();
    if (Fields.areTooDeep(properties.getHeaders())) {
      return bare(parked, " Nobody could read them."); // nor we write them again
    }
    Map<String, @Nullable Object> headers = new HashMap<>();
    if (properties.getHeaders() != null) {
      headers.putAll(properties.getHeaders());
    }
    headers.keySet().removeIf(Names::isForTheBroker);
    headers.putIfAbsent(Names.EXCHANGE, parked.delivery().getEnvelope().getExchange());
    headers.putIfAbsent(Names.ROUTING_KEY, parked.delivery().getEnvelope().getRoutingKey());
    if (retries(parked)) {
      headers.keySet().removeIf(Names::isTheBrokers); // it would take its own way back for a circle
      headers.put(Names.RETRIES, retriesOf(parked.delivery()) + 1);
      String wait = Long.toString(settings.retryDelay().toMillis());
      return new Publisher.Outgoing(
          "",
          RabbitQueue.retryNameOf(settings.queue()),
          with(properties, headers, wait),
          parked.delivery().getBody());
    }
    headers.remove(Names.RETRIES); // whoever moves it back means it
    return refused(parked, properties, headers, "");
  }

  /** With nothing of a length that somebody else has chosen, but for the body. */
  private Publisher.Outgoing bare(Parked parked, String why) {
    BasicProperties properties = parked.delivery().getProperties();
    return refused(
        parked,
        new BasicProperties.Builder()
            .messageId(properties.getMessageId())
            .type(properties.getType())
            .contentType(properties.getContentType())
            .build(),
        new HashMap<>(),
        " Its headers are left out." + why);
  }

  private Publisher.Outgoing refused(
      Parked parked,
      BasicProperties properties,
      Map<String, @Nullable Object> headers,
      String remark) {
    headers.put(Names.CODE, parked.code().text());
    headers.put(Names.REASON, cut(parked.reason()) + remark);
    headers.put(Names.QUEUE, settings.queue());
    return new Publisher.Outgoing(
        String.valueOf(settings.deadLetters()),
        settings.deadLetterKey(),
        with(properties, headers, null),
        parked.delivery().getBody());
  }

  private static long retriesOf(Delivery delivery) {
    Map<String, Object> headers = delivery.getProperties().getHeaders();
    return headers != null && headers.get(Names.RETRIES) instanceof Number number
        ? number.longValue()
        : 0;
  }

  /**
   * Durable, for as long as it takes; and the broker lets nobody speak in the name of another user.
   * What came as bytes that are no text may have become too long for its place.
   */
  private static BasicProperties with(
      BasicProperties properties, Map<String, @Nullable Object> headers, @Nullable String wait) {
    return properties
        .builder()
        .messageId(Envelopes.shortOrHeader(properties.getMessageId(), headers, Names.ID))
        .type(Envelopes.shortOrHeader(properties.getType(), headers, Names.TYPE))
        .correlationId(
            Envelopes.shortOrHeader(properties.getCorrelationId(), headers, "correlation-id"))
        .contentType(Envelopes.shortOrHeader(properties.getContentType(), headers, "content-type"))
        .replyTo(Envelopes.shortOrHeader(properties.getReplyTo(), headers, "reply-to"))
        .appId(Envelopes.shortOrHeader(properties.getAppId(), headers, "app-id"))
        .headers(headers)
        .deliveryMode(Envelopes.DURABLE)
        .expiration(wait)
        .userId(null)
        .build();
  }

  void close() {
    retries.close();
    refusals.close();
  }

  private static String cut(String reason) {
    return reason.length() <= LONGEST_REASON ? reason : reason.substring(0, LONGEST_REASON) + "…";
  }
}
