package dev.pigeonhole.spring.boot;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.StoreException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;

/** Which version runs, on which database, and what can feed channels. */
final class PigeonholeInfoContributor implements InfoContributor {
  private final ObjectProvider<JdbcStore> stores;
  private final ObjectProvider<ChannelSource> sources;

  PigeonholeInfoContributor(
      ObjectProvider<JdbcStore> stores, ObjectProvider<ChannelSource> sources) {
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
    List<String> databases =
        stores.orderedStream().map(PigeonholeInfoContributor::database).toList();
    details.put("store", databases.size() == 1 ? databases.get(0) : databases);
    details.put(
        "transports",
        sources
            .orderedStream()
            .map(each -> each.transport().name().toLowerCase(Locale.ROOT))
            .toList());
    builder.withDetail("pigeonhole", details);
  }

  private static String database(JdbcStore store) {
    try {
      return store.describe().what();
    } catch (StoreException e) {
      return "not there: " + e.code().text();
    }
  }
}
