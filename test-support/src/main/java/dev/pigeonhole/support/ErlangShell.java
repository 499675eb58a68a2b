package dev.pigeonhole.support;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * Asks a running Erlang node for the value of expressions. Each {@code rabbitmqctl} starts a
 * machine of its own for that, which takes longer than most tests.
 */
final class ErlangShell implements AutoCloseable {

  /** Answers every line it reads with one line; it ends with whoever writes to it. */
  private static final String LOOP =
      """
      Loop = fun Loop() ->
        case io:get_line("") of
          Line when is_list(Line) ->
            {ok, Tokens, _} = erl_scan:string(Line),
            {ok, Expressions} = erl_parse:parse_exprs(Tokens),
            Answer = case rpc:call('%s', erl_eval, exprs, [Expressions, []]) of
              {value, Value, _} -> {ok, Value};
              Failure -> {failed, Failure}
            end,
            io:format("~0p~n", [Answer]),
            Loop();
          _ -> halt()
        end
      end, Loop().""";

  private final Process process;
  private final BufferedWriter questions;
  private final BufferedReader answers;

  private ErlangShell(Process process) {
    this.process = process;
    this.questions =
        new BufferedWriter(
            new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
    this.answers =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  static ErlangShell of(String node, Map<String, String> environment) {
    ProcessBuilder builder =
        new ProcessBuilder(
            List.of(
                "erl",
                "+S",
                "1:1",
                "-noshell",
                "-hidden",
                "-sname",
                "shell-" + node,
                "-eval",
                LOOP.formatted(node)));
    builder.environment().putAll(environment);
    try {
      return new ErlangShell(builder.redirectErrorStream(true).start());
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot run erl", e);
    }
  }

  /** The value as Erlang prints it. */
  synchronized String eval(String expressions) {
    try {
      questions.write(expressions.replace('\n', ' ') + "\n");
      questions.flush();
      String answer = answers.readLine();
      if (answer == null || !answer.startsWith("{ok,")) {
        throw new IllegalStateException("Erlang fails: %s\nat: %s".formatted(answer, expressions));
      }
      return answer.substring("{ok,".length(), answer.length() - 1);
    } catch (IOException e) {
      throw new UncheckedIOException("The Erlang shell has ended", e);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
