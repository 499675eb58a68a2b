package dev.pigeonhole.spring;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.PreUpdate;
import jakarta.persistence.Table;
import jakarta.persistence.Version;

/** An entity that JPA changes once more when it writes it. */
@Entity
@Table(name = "account")
public class Account {
  @Id public String id;

  @Version
  @Column(name = "revision")
  public int revision;

  @Column(name = "owner_name")
  public String owner;

  @Column(name = "touched")
  public String touched = "no";

  protected Account() {}

  Account(String id) {
    this.id = id;
  }

  @PreUpdate
  void touch() {
    touched = "yes";
  }
}
