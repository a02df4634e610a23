# The original: a list of tasks, awaited together (Elixir's Task.async and Task.await_many).
# Compile with elixirc, run with Elixir's libraries on the code path.
defmodule :million_task do
  def main(args) do
    [processes, milliseconds] = numbers(args, [10_000, 3000])
    before = :erlang.memory(:processes)
    start = :erlang.monotonic_time(:microsecond)
    tasks = for _ <- 1..processes, do: Task.async(fn -> :timer.sleep(milliseconds) end)
    started = :erlang.monotonic_time(:microsecond) - start
    bytes = (:erlang.memory(:processes) - before) / processes
    done = length(Task.await_many(tasks, :infinity))
    :io.format("million task: ~w processes slept~n", [done])
    :io.format(:standard_error, "memory: ~.1f bytes/process~n", [bytes])
    :io.format(:standard_error, "result: million_task ~.4f us/spawn~n", [started / processes])
  end

  defp numbers(args, defaults) do
    given = Enum.map(args, &:erlang.list_to_integer/1)
    given ++ Enum.drop(defaults, length(given))
  end
end
