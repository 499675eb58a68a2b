package dev.pigeonhole.jackson;

/** Tells by a system property that somebody has initialised it, as a gadget class would. */
public class GadgetAlarm {
  static {
    System.setProperty("pigeonhole.alarm", "initialised");
  }

  public String command;

  public GadgetAlarm() {}

  public GadgetAlarm(String command) {
    this.command = command;
  }

  /** The same, to show that the alarm works. */
  static final class Drill {
    static {
      System.setProperty("pigeonhole.alarm.drill", "initialised");
    }
  }
}
