%% Puzzles solved by elimination and search: sets of digits as bits, tuples that are changed.
-module(sudoku).
-export([main/1]).

main(Args) ->
    [Size, Repetitions] = numbers(Args, [1, 5]),
    Start = erlang:monotonic_time(microsecond),
    Answer = repeat(Repetitions, Size, none),
    Micros = erlang:monotonic_time(microsecond) - Start,
    io:format("sudoku ~w x~w: ~w~n", [Size, Repetitions, Answer]),
    io:format(standard_error, "result: sudoku ~w us~n", [Micros]).

repeat(0, _, Answer) -> Answer;
repeat(N, Size, _) -> repeat(N - 1, Size, exercise(Size)).

exercise(_) -> [erlang:phash2(solve(Puzzle)) || Puzzle <- puzzles()].

puzzles() ->
    ["4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......",
     "52...6.........7.13...........4..8..6......5...........418.........3..2...87.....",
     "48.3............71.2.......7.5....6....2..8.............1.76...3.....4......5....",
     "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9"].

solve(Text) ->
    Cells = [if C =:= $. -> 0; true -> C - $0 end || C <- Text],
    {Board, Rows, Columns, Boxes} = fill(Cells, 0, {erlang:make_tuple(81, 0), full(), full(), full()}),
    search(Board, Rows, Columns, Boxes).

full() -> erlang:make_tuple(9, 2#111111111).

fill([], _, State) -> State;
fill([0 | Rest], At, State) -> fill(Rest, At + 1, State);
fill([Digit | Rest], At, State) -> fill(Rest, At + 1, place(At, Digit, State)).

place(At, Digit, {Board, Rows, Columns, Boxes}) ->
    Bit = bnot (1 bsl (Digit - 1)),
    {R, C, B} = units(At),
    {setelement(At + 1, Board, Digit), take(R, Bit, Rows), take(C, Bit, Columns), take(B, Bit, Boxes)}.

take(I, Bit, Sets) -> setelement(I, Sets, element(I, Sets) band Bit).

units(At) -> {At div 9 + 1, At rem 9 + 1, At div 27 * 3 + At rem 9 div 3 + 1}.

%% The empty cell with the fewest candidates is tried first.
search(Board, Rows, Columns, Boxes) ->
    case best(0, Board, Rows, Columns, Boxes, none, 10) of
        full -> Board;
        {_, 0} -> none;
        {At, Candidates} -> try_each(Candidates, 1, At, Board, Rows, Columns, Boxes)
    end.

best(81, _, _, _, _, none, _) -> full;
best(81, _, _, _, _, Found, _) -> Found;
best(At, Board, Rows, Columns, Boxes, Found, Fewest) when element(At + 1, Board) =:= 0 ->
    {R, C, B} = units(At),
    Candidates = element(R, Rows) band element(C, Columns) band element(B, Boxes),
    case count(Candidates, 0) of
        0 -> {At, 0};
        Count when Count < Fewest -> best(At + 1, Board, Rows, Columns, Boxes, {At, Candidates}, Count);
        _ -> best(At + 1, Board, Rows, Columns, Boxes, Found, Fewest)
    end;
best(At, Board, Rows, Columns, Boxes, Found, Fewest) -> best(At + 1, Board, Rows, Columns, Boxes, Found, Fewest).

count(0, Count) -> Count;
count(Bits, Count) -> count(Bits band (Bits - 1), Count + 1).

try_each(0, _, _, _, _, _, _) -> none;
try_each(Candidates, Digit, At, Board, Rows, Columns, Boxes) when Candidates band 1 =:= 1 ->
    {B, R, C, X} = place(At, Digit, {Board, Rows, Columns, Boxes}),
    case search(B, R, C, X) of
        none -> try_each(Candidates bsr 1, Digit + 1, At, Board, Rows, Columns, Boxes);
        Solved -> Solved
    end;
try_each(Candidates, Digit, At, Board, Rows, Columns, Boxes) ->
    try_each(Candidates bsr 1, Digit + 1, At, Board, Rows, Columns, Boxes).

numbers(Args, Defaults) ->
    Given = [list_to_integer(A) || A <- Args],
    Given ++ lists:nthtail(length(Given), Defaults).
