package dev.pigeonhole.spring;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import java.util.UUID;

/** What a handler does through JPA; two of one order are two. */
@Entity
@Table(name = "effect")
public class Effect {
  @Id private String id;

  @Column(name = "order_id", nullable = false, length = 20)
  private String order;

  protected Effect() {}

  Effect(String order) {
    this.id = UUID.randomUUID().toString();
    this.order = order;
  }

  public String order() {
    return order;
  }
}
