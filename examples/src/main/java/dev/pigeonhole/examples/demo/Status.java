package dev.pigeonhole.examples.demo;

/** How many deliveries stand where; {@code held} ones wait behind a poisoned one of their key. */
record Status(long completed, long poisoned, long held, long pending) {

  /** Nothing more will happen to these by themselves. */
  long settled() {
    return completed + poisoned + held;
  }

  Status plus(Status more) {
    return new Status(
        completed + more.completed,
        poisoned + more.poisoned,
        held + more.held,
        pending + more.pending);
  }

  String toLine() {
    return completed + " " + poisoned + " " + held + " " + pending;
  }

  static Status ofLine(String line) {
    String[] numbers = line.split(" ");
    return new Status(
        Long.parseLong(numbers[0]),
        Long.parseLong(numbers[1]),
        Long.parseLong(numbers[2]),
        Long.parseLong(numbers[3]));
  }
}
