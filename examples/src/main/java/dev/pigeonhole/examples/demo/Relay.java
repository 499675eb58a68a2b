package dev.pigeonhole.examples.demo;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.RunningInbox;
import java.util.Arrays;
import java.util.List;

/** A relay process: it sends what the shop has staged, until it is killed or told to end. */
public final class Relay {

  private Relay() {}

  /** Arguments: URL, user, password, the broker's address, and the demo's options. */
  @SuppressWarnings("SystemOut") // the demo reads it
  public static void main(String[] args) throws Exception {
    List<String> database = List.of(args).subList(0, 3);
    Options options = Options.parse(Arrays.copyOfRange(args, 4, args.length));
    HikariDataSource pool = Database.pool(database, 8);
    Wire wire = Wire.of(options.transport(), args[3]);
    RunningInbox running = Shop.outbox(pool, wire.transport()).start();
    Runtime.getRuntime().addShutdownHook(new Thread(running::close));
    System.out.println(Fleet.READY);
    running.awaitStopped();
  }
}
