package dev.pigeonhole.examples;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/** A handler gets a better name while messages still wait under the old one. */
public final class RenamedHandler {

  private RenamedHandler() {}

  public static void main(String[] args) {
    run(ExampleDatabase.open(args, "renamed")).forEach(System.out::println);
  }

  /** Answers what the two versions of the program did. */
  static List<String> run(DataSource database) {
    Schema.migrate(database);
    List<String> log = new ArrayList<>();

    Channel before =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("mail-receipt", order -> log.add("old code handled " + order.order()))
            .build();
    Inbox oldProgram = Inbox.on(JdbcStore.of(database)).channel(before).build();
    Message first = Message.of("m-1", new OrderPlaced("o-1", "ada", 999));
    Message second = Message.of("m-2", new OrderPlaced("o-2", "bob", 500));
    oldProgram.accept("orders", first);
    oldProgram.drain();
    oldProgram.accept("orders", second); // and the program ends before anybody handles it

    Channel after =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle(
                HandlerKey.of("send-receipt").formerly("mail-receipt"),
                order -> log.add("new code handled " + order.order()))
            .build();
    Inbox newProgram = Inbox.on(JdbcStore.of(database)).channel(after).build();
    newProgram.accept("orders", first); // handled under the old name: not handled again
    newProgram.drain();

    if (newProgram.admin().drainCheck("mail-receipt").drained()) {
      log.add("the old name can be removed");
    }
    return log;
  }
}
