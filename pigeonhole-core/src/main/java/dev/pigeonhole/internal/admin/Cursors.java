package dev.pigeonhole.internal.admin;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.Page;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Slice;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Pages, and the text that says where the next one begins. */
final class Cursors {
  private static final Pattern TEXT = Pattern.compile("(\\d{1,18})\\.(\\d{1,9})");

  private Cursors() {}

  /**
   * Reads one page, and one row further to learn whether there is another.
   *
   * @param next null for the first page
   */
  static <T> Page<T> page(
      @Nullable String next, int size, Function<Slice, List<Listed<T>>> reading) {
    if (size < 1 || size > Page.MOST) {
      throw new InboxException(
          ErrorCode.PAGE_INVALID,
          "A page has 1 to %d items, and %d were asked for.".formatted(Page.MOST, size));
    }
    List<Listed<T>> found =
        reading.apply(new Slice(next == null ? null : place(next), false, size + 1));
    List<Listed<T>> shown = found.subList(0, Math.min(size, found.size()));
    return new Page<>(
        shown.stream().map(Listed::view).toList(),
        found.size() > size ? Optional.of(text(shown.get(size - 1).place())) : Optional.empty());
  }

  /** How much of a list without pages is asked for. */
  static int limit(int limit) {
    if (limit < 1 || limit > InboxAdmin.MOST_LISTED) {
      throw new InboxException(
          ErrorCode.PAGE_INVALID,
          "A list has 1 to %,d items, and %d were asked for."
              .formatted(InboxAdmin.MOST_LISTED, limit));
    }
    return limit;
  }

  private static String text(Place place) {
    return place.seq() + "." + place.handler();
  }

  private static Place place(String text) {
    Matcher parts = TEXT.matcher(text);
    if (!parts.matches()) {
      throw new InboxException(
          ErrorCode.PAGE_INVALID,
          "There is no page after '%s'. Take what the page before it gave as next()."
              .formatted(Names.shown(text)));
    }
    return new Place(Long.parseLong(parts.group(1)), Integer.parseInt(parts.group(2)));
  }
}
