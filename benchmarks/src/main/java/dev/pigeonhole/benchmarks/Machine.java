package dev.pigeonhole.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Map;

/**
 * Where the numbers come from.
 *
 * @param settings of the database, as it tells them itself
 */
record Machine(
    int cores, double memoryGiB, String java, String database, Map<String, String> settings) {

  static Machine here(Database database) {
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    return new Machine(
        Runtime.getRuntime().availableProcessors(),
        Math.round(system.getTotalMemorySize() / 1e8 / 1.073741824) / 10.0,
        System.getProperty("java.vm.name") + " " + Runtime.version(),
        database.title(),
        database.settings());
  }
}
