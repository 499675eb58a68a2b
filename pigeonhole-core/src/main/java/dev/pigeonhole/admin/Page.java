package dev.pigeonhole.admin;

import java.util.List;
import java.util.Optional;

/**
 * A part of a list, newest first.
 *
 * @param next where the next part begins, for {@code after(…)}; empty at the end of the list
 */
public record Page<T>(List<T> items, Optional<String> next) {

  /** As many as a page has, unless somebody asks for more or fewer. */
  public static final int SIZE = 25;

  /** As many as a page can have. */
  public static final int MOST = 100;

  public Page {
    items = List.copyOf(items);
  }
}
