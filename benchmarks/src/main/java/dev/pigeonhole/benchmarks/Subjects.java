package dev.pigeonhole.benchmarks;

import dev.pigeonhole.benchmarks.SubjectProcess.SubjectException;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The processes of the subjects: each starts when it is needed first, and ends after its last. */
final class Subjects implements AutoCloseable {

  private final Places places;
  private final Map<Key, SubjectProcess> running = new HashMap<>();

  /** A heap is given at the start, so whoever needs another one needs another process. */
  private record Key(String subject, int heapMegabytes) {

    static Key of(Entry entry) {
      return new Key(entry.subject(), entry.heapMegabytes());
    }
  }

  Subjects(Places places) {
    this.places = places;
  }

  SubjectProcess of(Entry entry) throws SubjectException {
    SubjectProcess process = running.get(Key.of(entry));
    if (process == null) {
      process = start(entry);
      running.put(Key.of(entry), process);
    }
    return process;
  }

  private SubjectProcess start(Entry entry) throws SubjectException {
    Path log = places.logs().resolve(entry.subject() + ".log");
    String ours = System.getProperty("java.class.path");
    return switch (entry.subject()) {
      case Entry.FLOOR ->
          SubjectProcess.start(
              "dev.pigeonhole.benchmarks.floor.FloorSubject", ours, entry.heapMegabytes(), log);
      case Entry.PIGEONHOLE ->
          SubjectProcess.start(
              "dev.pigeonhole.benchmarks.pigeonhole.PigeonholeSubject",
              ours,
              entry.heapMegabytes(),
              log);
      default -> {
        String seed = Peer.named(entry.subject()).subjectClass();
        yield seed != null
            ? SubjectProcess.start(seed, ours, entry.heapMegabytes(), log)
            : startLibrary(entry, log);
      }
    };
  }

  /** Nothing of ours is on its class path but what it is driven with. */
  private SubjectProcess startLibrary(Entry entry, Path log) throws SubjectException {
    Path target = places.peer(entry.subject());
    Path name = target.resolve("classes/subject");
    if (!Files.exists(name)) {
      throw new SubjectException("not built; see benchmarks/target/bench/peers.log");
    }
    try (Stream<Path> jars = Files.list(target.resolve("lib"))) {
      String libraries =
          jars.map(Path::toString)
              .filter(jar -> jar.endsWith(".jar"))
              .sorted()
              .collect(Collectors.joining(File.pathSeparator));
      String classPath =
          String.join(
              File.pathSeparator,
              target.resolve("classes").toString(),
              libraries,
              places.classes().toString());
      return SubjectProcess.start(
          Files.readString(name).strip(), classPath, entry.heapMegabytes(), log);
    } catch (IOException e) {
      throw new SubjectException("not built completely: " + e);
    }
  }

  /** After a failure nobody knows what it still does. */
  void discard(Entry entry) {
    SubjectProcess process = running.remove(Key.of(entry));
    if (process != null) {
      process.close();
    }
  }

  /** Ends all but those that somebody still needs. */
  void keepOnly(Stream<Entry> needed) {
    Set<Key> keys = needed.map(Key::of).collect(Collectors.toSet());
    running
        .entrySet()
        .removeIf(
            each -> {
              boolean done = !keys.contains(each.getKey());
              if (done) {
                each.getValue().close();
              }
              return done;
            });
  }

  @Override
  public void close() {
    keepOnly(Stream.of());
  }
}
