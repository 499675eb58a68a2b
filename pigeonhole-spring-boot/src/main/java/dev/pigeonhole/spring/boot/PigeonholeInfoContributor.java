package dev.pigeonhole.spring.boot;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.StoreException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;

/** Which version runs, on which database or other store, and what can feed channels. */
final class PigeonholeInfoContributor implements InfoContributor {
  private final ObjectProvider<JdbcStore> databases;
  private final ObjectProvider<InboxStore> stores;
  private final ObjectProvider<ChannelSource> sources;

  PigeonholeInfoContributor(
      ObjectProvider<JdbcStore> databases,
      ObjectProvider<InboxStore> stores,
      ObjectProvider<ChannelSource> sources) {
    this.databases = databases;
    this.stores = stores;
    this.sources = sources;
  }

  @Override
  public void contribute(Info.Builder builder) {
    Map<String, Object> details = new LinkedHashMap<>();
    String version = Inbox.class.getPackage().getImplementationVersion();
    if (version != null) {
      details.put("version", version);
    }
    List<String> known = stores().stream().map(PigeonholeInfoContributor::described).toList();
    details.put("store", known.size() == 1 ? known.get(0) : known);
    details.put(
        "transports",
        sources
            .orderedStream()
            .map(each -> each.transport().name().toLowerCase(Locale.ROOT))
            .toList());
    builder.withDetail("pigeonhole", details);
  }

  /** Where there is a database, an inbox is built on that, whatever other store there is. */
  private List<? extends InboxStore> stores() {
    List<JdbcStore> ofDatabases = databases.orderedStream().toList();
    return ofDatabases.isEmpty() ? stores.orderedStream().toList() : ofDatabases;
  }

  private static String described(InboxStore store) {
    try {
      return store.describe().what();
    } catch (StoreException e) {
      return "not there: " + e.code().text();
    }
  }
}
