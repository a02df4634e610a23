# GenServer, Agent, Task, Registry-free naming, links and monitors from Elixir.
defmodule Stack do
  use GenServer
  def start_link(items), do: GenServer.start_link(__MODULE__, items)
  def push(s, item), do: GenServer.cast(s, {:push, item})
  def pop(s), do: GenServer.call(s, :pop)

  @impl true
  def init(items), do: {:ok, items}
  @impl true
  def handle_cast({:push, item}, items), do: {:noreply, [item | items]}
  @impl true
  def handle_call(:pop, _from, [h | t]), do: {:reply, {:ok, h}, t}
  def handle_call(:pop, _from, []), do: {:reply, :empty, []}
end

defmodule :processes do
  def main(_) do
    {:ok, s} = Stack.start_link([1])
    Enum.each(2..5, &Stack.push(s, &1))
    IO.inspect(for _ <- 1..6, do: Stack.pop(s))

    {:ok, a} = Agent.start_link(fn -> %{} end)
    for n <- 1..20, do: Agent.update(a, &Map.put(&1, n, n * n))
    IO.inspect(Agent.get(a, &Enum.sum(Map.values(&1))))
    Agent.stop(a)

    tasks = for n <- 1..10, do: Task.async(fn -> Enum.sum(1..(n * 100)) end)
    IO.inspect(Task.await_many(tasks))

    IO.inspect(
      1..8
      |> Task.async_stream(&(&1 * &1), max_concurrency: 3)
      |> Enum.map(fn {:ok, v} -> v end)
    )

    me = self()
    {pid, ref} = spawn_monitor(fn -> send(me, {:hello, self()}); exit(:done) end)
    receive do: ({:hello, ^pid} -> IO.puts("hello"))
    receive do: ({:DOWN, ^ref, :process, ^pid, reason} -> IO.inspect(reason))

    receive do
      :never -> :ok
    after
      10 -> IO.puts("nothing")
    end

    Process.flag(:trap_exit, true)
    p = spawn_link(fn -> exit({:shutdown, 1}) end)
    receive do: ({:EXIT, ^p, r} -> IO.inspect(r))

    {:ok, sup} =
      Supervisor.start_link([%{id: :w, start: {Agent, :start_link, [fn -> 7 end]}}], strategy: :one_for_one)

    [{:w, w, :worker, _}] = Supervisor.which_children(sup)
    IO.inspect(Agent.get(w, & &1))
    Supervisor.stop(sup)
    IO.inspect(Process.alive?(w))
  end
end
