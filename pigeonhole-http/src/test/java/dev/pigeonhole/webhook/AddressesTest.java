package dev.pigeonhole.webhook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.net.InetAddress;
import java.net.URI;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where outgoing requests may go. */
class AddressesTest {

  /** As a look-up would do it; the guard sees the address, not the name. */
  private static void resolve(String url, InetAddress... answer) {
    Target target = Target.of(URI.create(url), false, false, Set.of(443));
    assertThat(new AddressGuard(host -> answer, false).resolve(target)).isNotEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://partner.example/",
        "file:///etc/passwd",
        "gopher://partner.example/",
        "ftp://partner.example/",
        "//partner.example/",
        "/hooks",
        "https:partner.example",
        "https:///hooks",
        "https://user@partner.example/",
        "https://user:pass@partner.example/",
        "https://partner.example:22/",
        "https://part_ner.example:22/",
        "https://partner.example:99999/",
        "https://partner.example:80/",
        "https://partner.example:0/",
        "https://partner_.example.-/",
        "https://xn--.%65xample/",
        "https://pärtner.example/"
      })
  void d137_addressesThatAreNotPlainHttpsAreRefused(String url) {
    assertThatThrownBy(() -> OutgoingHttp.post(URI.create(url)))
        .as(url)
        .isInstanceOfSatisfying(
            InboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.URL_REFUSED));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1",
        "127.1.2.3",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "168.63.129.16",
        "192.0.0.192",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2001::1]",
        "[2001:db8::1]",
        "localhost",
        "LOCALHOST.",
        "db.localhost",
        "intranet",
        "printer.local",
        "metadata",
        "metadata.google.internal",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "127.0.0.01",
        "127.0.0.1.",
        "256.1.1.1"
      })
  void d138_sc12_e22_hostsThatAreNotPublicAreRefused(String host) {
    assertThatThrownBy(() -> resolve("https://" + host + "/"))
        .as(host)
        .isInstanceOfSatisfying(
            InboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.ADDRESS_REFUSED));
  }

  /** The first and the last address of every block that is given to nobody. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "0.0.0.0-0.255.255.255",
        "10.0.0.0-10.255.255.255",
        "100.64.0.0-100.127.255.255",
        "127.0.0.0-127.255.255.255",
        "169.254.0.0-169.254.255.255",
        "172.16.0.0-172.31.255.255",
        "192.0.0.0-192.0.0.255",
        "192.0.2.0-192.0.2.255",
        "192.88.99.0-192.88.99.255",
        "192.168.0.0-192.168.255.255",
        "198.18.0.0-198.19.255.255",
        "198.51.100.0-198.51.100.255",
        "203.0.113.0-203.0.113.255",
        "224.0.0.0-239.255.255.255",
        "240.0.0.0-255.255.255.255",
        "2001::-2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
        "2002::-2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "3fff::-3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
        "::-1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "4000::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
      })
  void d138_everyBlockIsRefusedFromItsFirstAddressToItsLast(String block) throws Exception {
    for (String end : block.split("-", 2)) {
      assertThat(PublicAddresses.contain(InetAddress.getByName(end))).as(end).isFalse();
    }
  }

  /** The neighbours of those blocks, as far as they are somebody's. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2000:ffff::",
        "2001:200::",
        "2001:db7:ffff::",
        "2001:db9::",
        "2003::",
        "3ffe:ffff::",
        "3fff:1000::"
      })
  void theAddressBesideABlockIsPublic(String address) throws Exception {
    assertThat(PublicAddresses.contain(InetAddress.getByName(address))).isTrue();
  }

  @Test
  void d138_aNameIsRefusedWhenOneOfItsAddressesIsNotPublic() throws Exception {
    InetAddress outside = InetAddress.getByName("93.184.216.34");
    InetAddress inside = InetAddress.getByName("10.0.0.7");
    resolve("https://partner.example/", outside);
    assertThatThrownBy(() -> resolve("https://partner.example/", outside, inside))
        .hasMessageStartingWith("PH-WEB-06");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "93.184.216.34",
        "172.15.0.1",
        "172.32.0.1",
        "100.128.0.1",
        "[2606:2800:220:1:248:1893:25c8:1946]"
      })
  void publicAddressesAreNotRefused(String host) {
    resolve("https://" + host + ":443/");
  }

  @Test
  void whatIsSentKeepsPathAndQueryAndLosesTheFragment() {
    Target target =
        Target.of(URI.create("https://Partner.Example/a%20b?c=d#e"), false, false, Set.of(443));
    assertThat(target).isEqualTo(new Target(true, "partner.example", 443, "/a%20b?c=d"));
    assertThat(Target.of(URI.create("https://partner.example"), false, false, Set.of(443)).path())
        .isEqualTo("/");
    assertThat(Target.of(URI.create("http://part_ner.example://ä"), true, false, Set.of(443)))
        .isEqualTo(new Target(false, "part_ner.example", 80, "//%C3%A4"));
  }

  @Test
  void aNameThatTlsDoesNotKnowIsRefusedWhenItIsConfigured() {
    assertThatThrownBy(() -> OutgoingHttp.post(URI.create("https://part_ner.example/")))
        .hasMessageStartingWith("PH-WEB-05");
  }

  @Test
  void secretsInAddressesAreNotShown() {
    OutgoingHttp outgoing =
        OutgoingHttp.post(URI.create("https://partner.example/s3cret?k=s3cret"));
    assertThat(outgoing.toString()).contains("partner.example").doesNotContain("s3cret");
    assertThatThrownBy(() -> outgoing.to(URI.create("http://partner.example/s3cret")))
        .hasMessageNotContaining("s3cret");
  }

  /** The first becomes a sign that no address may have, and the second is half a character. */
  @Test
  void aPathThatAsciiCannotWriteIsRefusedAndNotShown() {
    for (String odd : List.of("\u1FEF", "\uD800")) {
      URI address = URI.create("https://partner.example/s3cret/" + odd);
      assertThatThrownBy(() -> OutgoingHttp.post(address))
          .hasMessageStartingWith("PH-WEB-05")
          .hasMessageNotContaining("s3cret")
          .hasNoCause();
    }
  }
}
