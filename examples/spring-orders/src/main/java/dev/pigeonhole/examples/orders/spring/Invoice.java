package dev.pigeonhole.examples.orders.spring;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import org.jspecify.annotations.Nullable;

/** What a customer has to pay. Nothing here keeps an order from having two: the inbox does. */
@Entity
class Invoice {
  @Id
  @GeneratedValue(strategy = GenerationType.IDENTITY)
  private @Nullable Long id;

  private String orderId;
  private long cents;

  /** For JPA. */
  protected Invoice() {
    this("", 0);
  }

  Invoice(String orderId, long cents) {
    this.orderId = orderId;
    this.cents = cents;
  }

  @Override
  public String toString() {
    return "invoice %s of order %s over %d cents".formatted(id, orderId, cents);
  }
}
