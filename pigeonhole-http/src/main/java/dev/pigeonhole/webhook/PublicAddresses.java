package dev.pigeonhole.webhook;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.stream.Stream;

/**
 * The addresses that stand for a host of the public internet, by the registries of IANA for special
 * purposes. Of IPv6 only what is given out as unicast can be; that leaves out local and mapped
 * addresses, and those that a translator takes for IPv4.
 */
final class PublicAddresses {

  /** All addresses that begin with the same bits. */
  private record Block(byte[] start, int bits) {
    static Block of(String text) {
      String[] parts = text.split("/", 2);
      try {
        return new Block(InetAddress.getByName(parts[0]).getAddress(), Integer.parseInt(parts[1]));
      } catch (UnknownHostException e) {
        throw new IllegalArgumentException(text, e);
      }
    }

    boolean contains(byte[] address) {
      if (address.length != start.length) {
        return false;
      }
      for (int bit = 0; bit < bits; bit++) {
        int mask = 0x80 >> bit % 8;
        if ((address[bit / 8] & mask) != (start[bit / 8] & mask)) {
          return false;
        }
      }
      return true;
    }
  }

  private static final Block UNICAST_6 = Block.of("2000::/3");

  private static final List<Block> SPECIAL =
      Stream.of(
              "0.0.0.0/8", // this network
              "10.0.0.0/8",
              "100.64.0.0/10", // shared by a provider's customers
              "127.0.0.0/8",
              "168.63.129.16/32", // metadata of a cloud, in the midst of public ones
              "169.254.0.0/16", // link-local, metadata of most clouds
              "172.16.0.0/12",
              "192.0.0.0/24", // protocols, metadata of a cloud
              "192.0.2.0/24", // documentation
              "192.88.99.0/24", // relays of 6to4
              "192.168.0.0/16",
              "198.18.0.0/15", // benchmarks
              "198.51.100.0/24", // documentation
              "203.0.113.0/24", // documentation
              "224.0.0.0/4", // multicast
              "240.0.0.0/4", // reserved, broadcast
              "2001::/23", // protocols, Teredo among them
              "2001:db8::/32", // documentation
              "2002::/16", // 6to4: any IPv4 address in disguise
              "3fff::/20") // documentation
          .map(Block::of)
          .toList();

  private PublicAddresses() {}

  static boolean contain(InetAddress address) {
    byte[] bytes = address.getAddress();
    return (bytes.length == 4 || UNICAST_6.contains(bytes))
        && SPECIAL.stream().noneMatch(block -> block.contains(bytes));
  }
}
