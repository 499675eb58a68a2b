package dev.pigeonhole.webhook;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import java.net.URI;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SNIHostName;

/**
 * Where a request goes, as far as the text of its address tells. A host has one way to be written
 * here: what other programs read as a number in disguise is refused, not understood.
 *
 * @param host a name in lower case, four numbers, or an IPv6 address in brackets
 * @param path with the query
 */
record Target(boolean tls, String host, int port, String path) {
  private static final Pattern AUTHORITY =
      Pattern.compile("(\\[[^\\]]*\\]|[^:]*)(?::([0-9]{0,5}))?");
  private static final Pattern QUAD =
      Pattern.compile("(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\\.(?!$)|$)){4}");
  private static final Pattern SIX = Pattern.compile("\\[[0-9a-f:.]+\\]");
  private static final Pattern NAME =
      Pattern.compile("(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\\.)+[a-z0-9-]{2,63}");
  // Its last part decides how others read a host: as a name, or as a number of some kind.
  private static final Pattern NUMERIC = Pattern.compile("(?:.*\\.)?(?:[0-9]+|0x[0-9a-f]*)\\.?");
  private static final Pattern INNER_NAME = Pattern.compile("[a-z0-9_][a-z0-9_.-]{0,252}");
  private static final Pattern INTERNAL =
      Pattern.compile("[^.]*|.*\\.(?:localhost|local|internal|home\\.arpa)");

  static Target of(URI uri, boolean allowHttp, boolean allowPrivate, Set<Integer> ports) {
    String scheme = uri.getScheme() == null ? "" : uri.getScheme().toLowerCase(Locale.ROOT);
    boolean tls = scheme.equals("https");
    if (!tls && !(allowHttp && scheme.equals("http"))) {
      throw refused("its scheme is not https");
    }
    URI ascii = ascii(uri);
    String authority = ascii.getRawAuthority();
    if (authority == null) {
      throw refused("it names no host");
    }
    if (authority.indexOf('@') >= 0) {
      throw refused("it names a user");
    }
    // Java's own reading of it gives up where a name is unusual, and then knows no port either.
    Matcher parts = AUTHORITY.matcher(authority.toLowerCase(Locale.ROOT));
    if (!parts.matches()) {
      throw refused("its host cannot be read");
    }
    String host = host(parts.group(1), allowPrivate);
    if (tls && isName(host)) {
      checkForTls(host);
    }
    String named = parts.group(2);
    int port = named != null && !named.isEmpty() ? Integer.parseInt(named) : tls ? 443 : 80;
    if (!ports.contains(port) && !(port == 80 && !tls)) {
      throw refused("port %d is not allowed".formatted(port));
    }
    String path = ascii.getRawPath().isEmpty() ? "/" : ascii.getRawPath();
    String query = ascii.getRawQuery() == null ? "" : "?" + ascii.getRawQuery();
    return new Target(tls, host, port, path + query);
  }

  /** What Java throws here has the path in its text. */
  private static URI ascii(URI uri) {
    try {
      return URI.create(uri.toASCIIString());
    } catch (RuntimeException e) { // some letters become others, and half a character fails
      throw refused("it has characters that cannot be written in ASCII; write them as %xy");
    }
  }

  private static String host(String host, boolean allowPrivate) {
    if (QUAD.matcher(host).matches() || SIX.matcher(host).matches()) {
      return host;
    }
    if (NUMERIC.matcher(host).matches() || host.startsWith("[")) {
      throw privateHost("its host is a number in disguise");
    }
    String name = host.endsWith(".") ? host.substring(0, host.length() - 1) : host;
    if (!name.isEmpty() && INTERNAL.matcher(name).matches()) {
      if (allowPrivate && INNER_NAME.matcher(name).matches()) {
        return name;
      }
      throw privateHost("its host is a name of an inner network");
    }
    if (!NAME.matcher(name).matches()) {
      throw refused("its host cannot be read; letters beyond ASCII are written as xn--");
    }
    return name;
  }

  private static void checkForTls(String host) {
    try {
      SNIHostName unused = new SNIHostName(host);
    } catch (IllegalArgumentException e) {
      throw refused("TLS knows no host names like this one");
    }
  }

  /** Whether it has to be looked up. */
  boolean isName() {
    return isName(host);
  }

  private static boolean isName(String host) {
    return !host.startsWith("[") && !QUAD.matcher(host).matches();
  }

  /** Never shows the address: whoever knows it may be able to post there. */
  private static ConfigurationException refused(String why) {
    return new ConfigurationException(
        ErrorCode.URL_REFUSED,
        "The address of an outgoing request is refused: %s. Use one like".formatted(why)
            + " https://partner.example/hooks; for another port say .allowPorts(…) before .to(…).");
  }

  private static ConfigurationException privateHost(String why) {
    return new ConfigurationException(
        ErrorCode.ADDRESS_REFUSED,
        ("The address of an outgoing request is refused: %s. Use the public name of the host, or"
                + " .unsafeAllowPrivateAddresses() before .to(…) for one of your own.")
            .formatted(why));
  }

  /** Without the path, which may be secret. */
  @Override
  public String toString() {
    return (tls ? "https://" : "http://") + host + ":" + port;
  }
}
