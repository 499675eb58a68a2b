package dev.pigeonhole.examples.demo;

import dev.pigeonhole.support.JavaProcess;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.SplittableRandom;

/** Through the outbox of the shop, relays, and a broker from which the workers receive. */
final class BrokerWay implements Way {

  /** Enough for one to go on while another is dead. */
  private static final int RELAYS = 2;

  private final Shop shop;
  private final Fleet relays;
  private final Kills killer;
  private final TransitTables tables;

  BrokerWay(Plan plan, Options options, Database database, Broker broker, Path directory)
      throws SQLException {
    database.createOutboxTables();
    this.tables = new TransitTables(database.connect());
    this.shop = new Shop(plan, database, Wire.of(options.transport(), broker.address()));
    this.relays = new Fleet("a relay", () -> launch(options, database, broker, directory));
    this.killer =
        new CountKiller(
            plan.relayKillsAfter(),
            TransitTables::confirmed,
            relays,
            database,
            new SplittableRandom(options.seed() + 4));
  }

  private static JavaProcess launch(
      Options options, Database database, Broker broker, Path directory) {
    return JavaProcess.of(Relay.class)
        .heap("256m")
        .option("-XX:-UsePerfData")
        .systemProperty("java.io.tmpdir", directory.toString())
        .args(database.toArguments().toArray())
        .args(broker.address())
        .args(options.toArguments().toArray())
        .start();
  }

  @Override
  public Intake intake() {
    return shop;
  }

  @Override
  public void start() {
    relays.start(RELAYS);
    killer.start();
  }

  @Override
  public Transit transit() {
    return new Transit(tables.placed(), tables.published(), tables.confirmed(), killer.kills());
  }

  @Override
  public boolean finished() {
    return killer.finished() && tables.confirmed() == tables.published();
  }

  @Override
  public void checkAlive() {
    relays.checkAlive();
  }

  @Override
  public void stop() {
    shop.close();
    relays.stop();
  }

  @Override
  public void kill() {
    shop.close();
    relays.close();
  }

  @Override
  public void close() {
    kill();
    tables.close();
  }
}
