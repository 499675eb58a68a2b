package dev.pigeonhole.spring.boot;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.lease.LeaseGuard;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.spring.GuardTemplate;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.transport.Publisher;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.time.temporal.TemporalAmount;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.springframework.context.ApplicationContext;
import org.springframework.test.util.ReflectionTestUtils;

/**
 * All that inbox, guards and outbox of an application were told, by the places where they keep it.
 * Nobody but a test wants to know, so it looks into private fields: an accessor that leaves one out
 * would hide what it is to find.
 */
final class ToldSettings {
  private final Map<String, String> all = new TreeMap<>();
  private final Set<Object> within = Collections.newSetFromMap(new IdentityHashMap<>());

  private ToldSettings() {}

  static Map<String, String> of(ApplicationContext context) {
    ToldSettings told = new ToldSettings();
    told.engine("inbox", context.getBean(Inbox.class));
    told.tables("inbox", context.getBean(JdbcStore.class));
    told.starts("inbox", context.getBean("pigeonholeInboxProcessor", PigeonholeLifecycle.class));
    told.guard("guard", field(context.getBean(GuardTemplate.class), "guard"));
    told.leaseGuard("lease", context.getBean(LeaseGuard.class));
    Outbox outbox = context.getBean(Outbox.class);
    told.engine("outbox", field(outbox, "engine"));
    told.tables("outbox", field(outbox, "store"));
    told.starts("outbox", context.getBean("pigeonholeOutboxRelay", PigeonholeLifecycle.class));
    return told.all;
  }

  /** Of an inbox, be it that of an outbox. */
  static Map<String, String> ofEngine(String at, Object inbox) {
    ToldSettings told = new ToldSettings();
    told.add(at, field(inbox, "settings"));
    return told.all;
  }

  static Map<String, String> ofGuard(String at, Object guard) {
    ToldSettings told = new ToldSettings();
    told.guard(at, guard);
    return told.all;
  }

  static Map<String, String> ofLeaseGuard(String at, LeaseGuard guard) {
    ToldSettings told = new ToldSettings();
    told.leaseGuard(at, guard);
    return told.all;
  }

  static Object field(Object of, String name) {
    Object value = ReflectionTestUtils.getField(of, name);
    if (value == null) {
      throw new IllegalStateException("%s has nothing in %s".formatted(of, name));
    }
    return value;
  }

  private void engine(String at, Object inbox) {
    add(at, field(inbox, "settings"));
    add(at + ".channels", field(inbox, "channels"));
  }

  private void tables(String at, Object store) {
    for (String each : List.of("schema", "prefix")) {
      add(at + ".tables." + each, ReflectionTestUtils.getField(store, each));
    }
  }

  private void starts(String at, PigeonholeLifecycle lifecycle) {
    add(at + ".starts", lifecycle.isAutoStartup());
  }

  private void guard(String at, Object guard) {
    add(at, field(guard, "settings"));
  }

  private void leaseGuard(String at, LeaseGuard guard) {
    add(at, field(guard, "options"));
    add(at + ".store", field(guard, "store"));
  }

  private void add(String at, Object value) {
    if (value == null || isPlain(value)) {
      all.put(at, String.valueOf(value));
    } else if (value instanceof Iterable<?> several) {
      int i = 0;
      for (Object each : several) {
        add(at + "." + i++, each);
      }
    } else if (value instanceof Map<?, ?> byName) {
      byName.forEach((name, each) -> add(at + "." + name, each));
    } else if (!isOurs(value)) {
      all.put(at, value.getClass().isHidden() ? "lambda" : value.getClass().getSimpleName());
    } else if (within.add(value)) {
      List<Field> fields = fieldsOf(value.getClass());
      if (fields.isEmpty()) {
        all.put(at, value.getClass().getSimpleName());
      }
      for (Field each : fields) {
        add(at + "." + each.getName(), ReflectionTestUtils.getField(value, each.getName()));
      }
      within.remove(value);
    }
  }

  private static boolean isPlain(Object value) {
    return value instanceof CharSequence
        || value instanceof Number
        || value instanceof Boolean
        || value instanceof Enum
        || value instanceof Class
        || value instanceof TemporalAmount;
  }

  private static boolean isOurs(Object value) {
    return value.getClass().getName().startsWith("dev.pigeonhole.")
        && !value.getClass().isHidden()
        && !(value instanceof InboxListener || value instanceof Publisher); // who do their work
  }

  private static List<Field> fieldsOf(Class<?> type) {
    List<Field> fields = new ArrayList<>();
    for (Class<?> each = type; each != null && each != Object.class; each = each.getSuperclass()) {
      for (Field field : each.getDeclaredFields()) {
        if (!Modifier.isStatic(field.getModifiers())) {
          fields.add(field);
        }
      }
    }
    return fields;
  }
}
