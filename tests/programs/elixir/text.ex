# Strings, Unicode, binaries, dates, Integer, Regex-free parsing, inspect of everything.
defmodule :elixir_text do
  def main(_) do
    s = "Hej, världen! 👋🏽 e\u0301"
    IO.inspect({String.length(s), byte_size(s), String.graphemes(s) |> Enum.take(-3) |> length()})
    IO.puts(String.upcase(s))
    IO.inspect(String.split(" a  b c ", " ", trim: true))
    IO.inspect(String.split("2024-01-02", "-") |> Enum.map(&String.to_integer/1))
    IO.inspect(String.pad_leading("7", 3, "0") <> String.duplicate("ab", 3))
    IO.inspect({String.starts_with?(s, "Hej"), String.contains?(s, "värld"), String.replace(s, "l", "L")})
    IO.inspect(for <<c::utf8 <- "åäö">>, do: c)
    pixels = <<0xF8, 0x00, 0x07, 0xE0, 0x00, 0x1F>>
    IO.inspect(for <<r::5, g::6, b::5 <- pixels>>, do: {r, g, b})
    IO.inspect(Base.encode64("elixir") |> Base.decode64!())
    IO.inspect(Base.encode16(<<1, 171>>, case: :lower))
    IO.inspect({Integer.digits(12345), Integer.undigits([1, 2, 3]), Integer.gcd(12, 18), Integer.to_string(255, 16)})
    IO.inspect({Float.round(3.14159, 2), Float.parse("2.5abc"), Integer.parse("12x"), trunc(2.9)})
    IO.inspect(Date.new!(2024, 2, 28) |> Date.add(2))
    IO.inspect(Date.diff(~D[2024-03-01], ~D[2023-03-01]))
    IO.inspect(DateTime.from_unix!(1_700_000_000))
    IO.inspect(NaiveDateTime.add(~N[2024-01-01 00:00:00], 3661))
    IO.inspect([1, 2.0, :a, :"b c", "str", 'chars', {1}, %{:a => 1, "b" => 2}, [k: :v], nil, true, <<1::3>>, 1..3, MapSet.new([3, 1, 2])])
    IO.inspect(Enum.chunk_every(1..7, 3))
    IO.inspect(Enum.group_by(~w(apple avocado banana cherry), &String.first/1))
    IO.inspect(Enum.sort_by([{:b, 2}, {:a, 3}, {:c, 1}], &elem(&1, 1), :desc))
    IO.inspect(Enum.frequencies(String.graphemes("mississippi")))
    IO.inspect(Enum.scan(1..5, &(&1 * &2)))
    IO.inspect(List.flatten([1, [2, [3, []]]]))
    IO.inspect(inspect(%{list: Enum.to_list(1..60)}, limit: 5))
    # Elixir's own modules may come from an older compiler, with other instructions for binaries.
    IO.inspect(for text <- ["", "t", "te", "_", "T", "a_b", "mix/task", "1"], do: {text, Macro.camelize(text), Macro.underscore(text)})
    IO.puts(Enum.map_join(1..5, ", ", &"#{&1}²=#{&1 * &1}"))
  end
end
