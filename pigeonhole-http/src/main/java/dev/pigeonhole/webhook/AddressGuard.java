package dev.pigeonhole.webhook;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

/**
 * Finds the addresses of a host, once, and lets them through if every one of them is public.
 * Whoever connects uses these and does not ask again: a second answer could be another one.
 *
 * @param unsafe lets private ones through as well
 */
record AddressGuard(Resolver resolver, boolean unsafe) {

  /** Looks up a name. */
  @FunctionalInterface
  interface Resolver {
    InetAddress[] resolve(String host) throws UnknownHostException;
  }

  /** At least one. */
  List<InetAddress> resolve(Target target) {
    List<InetAddress> addresses;
    try {
      addresses =
          List.of(
              target.isName()
                  ? resolver.resolve(target.host())
                  : new InetAddress[] {InetAddress.getByName(target.host())}); // asks nobody
    } catch (UnknownHostException e) {
      throw new InboxException(
          ErrorCode.EXCHANGE_FAILED,
          "The host of %s is not known. It is tried again.".formatted(target),
          e);
    }
    if (!unsafe && !addresses.stream().allMatch(PublicAddresses::contain)) {
      throw new InboxException(
          ErrorCode.ADDRESS_REFUSED,
          ("The host of %s has an address that is not public, so nothing was sent. Use a public"
                  + " host, or .unsafeAllowPrivateAddresses() for one of your own.")
              .formatted(target));
    }
    return addresses;
  }
}
