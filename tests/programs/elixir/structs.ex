# Structs, protocols, behaviours, pattern matching, pipes.
defprotocol Area do
  def of(shape)
end

defmodule Circle do
  defstruct r: 1
end

defmodule Rectangle do
  @enforce_keys [:w]
  defstruct [:w, h: 2]
end

defimpl Area, for: Circle do
  def of(%Circle{r: r}), do: 3 * r * r
end

defimpl Area, for: Rectangle do
  def of(%{w: w, h: h}), do: w * h
end

defimpl Area, for: List do
  def of(shapes), do: shapes |> Enum.map(&Area.of/1) |> Enum.sum()
end

defmodule :structs do
  def main(_) do
    shapes = [%Circle{}, %Rectangle{w: 4}, %Circle{r: 5}, %Rectangle{w: 1, h: 1}]
    IO.inspect(shapes)
    IO.inspect(Enum.map(shapes, &Area.of/1))
    IO.inspect(Area.of(shapes))
    IO.inspect(%{hd(shapes) | r: 10})
    IO.inspect(for %Circle{r: r} <- shapes, r > 1, do: r)
    IO.puts("#{length(shapes)} shapes, the first is a #{inspect(hd(shapes).__struct__)}")

    result =
      try do
        Area.of(:nothing)
      rescue
        e in Protocol.UndefinedError -> e.value
      end

    IO.inspect(result)

    IO.inspect(
      try do
        raise ArgumentError, "custom"
      rescue
        e -> Exception.message(e)
      after
        IO.puts("after")
      end
    )

    with {:ok, a} <- Map.fetch(%{a: 1}, :a),
         {:ok, b} <- Map.fetch(%{a: 1}, :b) do
      IO.inspect({a, b})
    else
      :error -> IO.puts("missing")
    end

    IO.inspect(Enum.reduce(1..10, %{}, fn n, acc -> Map.update(acc, rem(n, 3), [n], &[n | &1]) end))
    IO.inspect(Stream.iterate(1, &(&1 * 2)) |> Stream.filter(&(rem(&1, 3) == 1)) |> Enum.take(8))
    IO.inspect(String.upcase("elixir å") <> String.reverse("abc"))
    IO.inspect(Enum.zip_with([1, 2, 3], [4, 5, 6], &(&1 * &2)))
    IO.inspect(Keyword.merge([a: 1, b: 2], b: 3, c: 4))
    IO.inspect(~w(one two three)a)
    IO.inspect(<<1, 2, 3>> <> "x")
    IO.inspect('charlist' ++ ' more')
  end
end
