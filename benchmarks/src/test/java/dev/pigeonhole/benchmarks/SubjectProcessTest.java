package dev.pigeonhole.benchmarks;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.benchmarks.SubjectProcess.SubjectException;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import dev.pigeonhole.benchmarks.subject.SubjectMain;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SubjectProcessTest {

  private static final double PATIENCE = 600; // seconds

  @TempDir private Path directory;
  private SubjectProcess process;

  @BeforeEach
  void start() {
    process =
        SubjectProcess.start(
            Moody.class.getName(),
            System.getProperty("java.class.path"),
            64,
            directory.resolve("log"));
  }

  @AfterEach
  void end() {
    process.close();
  }

  /** Does as the scenario says. */
  public static final class Moody implements Subject {

    @Override
    public String dedup() {
      return "none & never";
    }

    @Override
    public String effects() {
      return "once";
    }

    @Override
    public String settings() {
      return "a=b";
    }

    @Override
    public Set<String> scenarios() {
      return Set.of("good", "bad");
    }

    @Override
    public void prepare(Run run) {}

    @Override
    public long work(Run run) throws Exception {
      System.out.println("what a library prints is no answer");
      new FileOutputStream(FileDescriptor.out)
          .write("[warning] nor what the JVM says\n".getBytes(US_ASCII));
      switch (run.scenario()) {
        case "bad" -> throw new IllegalStateException("3 were lost");
        case "dead" -> Runtime.getRuntime().halt(7);
        default -> {}
      }
      try (var pool = run.pool(1)) {
        select(pool, 2);
        run.begin();
        select(pool, 3);
        run.end();
      }
      run.note("mood", "good");
      return run.messages();
    }

    private static void select(DataSource source, int times) throws Exception {
      for (int i = 0; i < times; i++) {
        try (Connection connection = source.getConnection();
            Statement statement = connection.createStatement()) {
          statement.execute("SELECT 1");
        }
      }
    }
  }

  private Map<String, String> run(String scenario, int counted) throws Exception {
    Map<String, String> values = new LinkedHashMap<>();
    values.put("scenario", scenario);
    values.put("messages", "12");
    values.put("url", "jdbc:h2:mem:subject;DB_CLOSE_DELAY=-1");
    values.put("user", "sa");
    values.put("password", "");
    values.put("counted", Integer.toString(counted));
    return process.ask(SubjectMain.encode("run", values), PATIENCE, () -> {});
  }

  @Test
  void saysWhatItIs() throws Exception {
    assertThat(process.ask("about", PATIENCE, () -> {}))
        .containsEntry("dedup", "none & never")
        .containsEntry("effects", "once")
        .containsEntry("settings", "a=b");
  }

  @Test
  void answersOneRunAfterTheOther() throws Exception {
    assertThat(run("good", 0))
        .containsEntry("completed", "12")
        .containsEntry("mood", "good")
        .containsKeys("seconds", "clientCpuSeconds")
        .doesNotContainKey("roundTrips");
    assertThat(run("good", 0)).containsEntry("completed", "12");
  }

  @Test
  void countsBetweenBeginAndEndIfAsked() throws Exception {
    assertThat(run("good", 1)).containsEntry("roundTrips", "3");
  }

  @Test
  void failureIsToldAndTheProcessStays() throws Exception {
    assertThatThrownBy(() -> run("bad", 0))
        .isInstanceOf(SubjectException.class)
        .hasMessageContaining("3 were lost");
    assertThat(run("good", 0)).containsEntry("completed", "12");
  }

  @Test
  void deathIsNoticed() {
    assertThatThrownBy(() -> run("dead", 0))
        .isInstanceOf(SubjectException.class)
        .hasMessageContaining("its process has ended");
  }
}
