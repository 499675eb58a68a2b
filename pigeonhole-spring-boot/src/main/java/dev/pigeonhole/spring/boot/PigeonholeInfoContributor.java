package dev.pigeonhole.spring.boot;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.StoreException;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;

/** Which version runs, on which database, and what can feed channels. */
final class PigeonholeInfoContributor implements InfoContributor {
  private final JdbcStore store;
  private final ObjectProvider<ChannelSource> sources;

  PigeonholeInfoContributor(JdbcStore store, ObjectProvider<ChannelSource> sources) {
    this.store = store;
    this.sources = sources;
  }

  @Override
  public void contribute(Info.Builder builder) {
    Map<String, Object> details = new LinkedHashMap<>();
    String version = Inbox.class.getPackage().getImplementationVersion();
    if (version != null) {
      details.put("version", version);
    }
    details.put("store", store());
    details.put(
        "transports",
        sources
            .orderedStream()
            .map(each -> each.transport().name().toLowerCase(Locale.ROOT))
            .toList());
    builder.withDetail("pigeonhole", details);
  }

  private String store() {
    try {
      return store.describe().what();
    } catch (StoreException e) {
      return "not there: " + e.code().text();
    }
  }
}
