package dev.pigeonhole.webhook;

import dev.pigeonhole.ErrorCode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Locale;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/** How a body was packed for its way; signatures are over the packed bytes. */
enum Encoding {
  IDENTITY {
    @Override
    byte[] decode(byte[] packed, int limit) {
      return packed;
    }
  },

  GZIP {
    @Override
    byte[] decode(byte[] packed, int limit) throws RefusedException {
      ByteArrayOutputStream unpacked = new ByteArrayOutputStream();
      try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(packed))) {
        byte[] piece = new byte[PIECE];
        for (int read = in.read(piece); read >= 0; read = in.read(piece)) {
          unpacked.write(piece, 0, read);
          if (unpacked.size() > limit
              || unpacked.size() > Math.max(HARMLESS, (long) HIGHEST_RATIO * packed.length)) {
            throw new RefusedException(
                400, ErrorCode.PAYLOAD_EXPANDS, "The body grows too much when it is unpacked");
          }
        }
      } catch (IOException e) {
        throw new RefusedException(
            400, ErrorCode.PAYLOAD_UNDECODABLE, "The body cannot be unpacked");
      }
      return unpacked.toByteArray();
    }
  };

  private static final int PIECE = 8_192;
  private static final int HIGHEST_RATIO = 100;

  /** Something this small hurts nobody, however well it was packed. */
  private static final int HARMLESS = 65_536;

  abstract byte[] decode(byte[] packed, int limit) throws RefusedException;

  /** By the header; without it, nothing is packed. */
  static Encoding of(@Nullable String header) throws RefusedException {
    String name = header == null ? "identity" : header.strip().toLowerCase(Locale.ROOT);
    return switch (name) {
      case "", "identity" -> IDENTITY;
      case "gzip", "x-gzip" -> GZIP;
      default ->
          throw new RefusedException(
              415, ErrorCode.PAYLOAD_ENCODING, "This content encoding is not known");
    };
  }
}
