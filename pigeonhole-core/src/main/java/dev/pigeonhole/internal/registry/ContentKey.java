package dev.pigeonhole.internal.registry;

import dev.pigeonhole.codec.StructuredCodec;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The content as its own key: SHA-256 of its canonical form, without the fields left out. */
final class ContentKey implements KeyReader {
  private final List<String> except;

  ContentKey(List<String> except) {
    this.except = except;
  }

  @Override
  public @Nullable String read(KeySubject subject) {
    if (subject.payload() == null) {
      return null;
    }
    byte[] canonical = CanonicalContent.of(subject.fields(), except);
    return HexFormat.of().formatHex(Hashes.sha256().digest(canonical));
  }

  @Override
  public List<String> problems(Class<?> type, @Nullable StructuredCodec codec) {
    if (codec == null) {
      return List.of(
          ("%s is @Idempotent by its content, and its codec cannot show content as fields. Use"
                  + " pigeonhole-jackson or another StructuredCodec, or name a key.")
              .formatted(type.getName()));
    }
    List<String> problems = new ArrayList<>();
    for (String path : except) {
      if (path.isBlank() || !codec.mayHave(type, path)) {
        problems.add(
            ("@Idempotent of %s leaves out '%s', which its content does not have. Name fields as"
                    + " they are called in the content.")
                .formatted(type.getName(), Names.shown(path)));
      }
    }
    return problems;
  }
}
