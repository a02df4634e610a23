-module(hand_made).
-export([main/1]).

%% Code that no compiler writes: bodies of a function of one argument, from a list and at random. Each becomes a module, which is loaded
%% and called with values of every kind, each time by a process of its own that is given little time and memory. What comes of a call
%% does not matter, as long as the machine lives and its heaps are whole: processes end with collections of all they have.
%%
%%   main([Seed, Number of random bodies])
%%
%% prints how many modules were refused, and how many calls returned, raised, and took too long.

main([Seed, Count]) ->
    logger:set_primary_config(level, none),
    rand:seed(exsss, list_to_integer(Seed)),
    Random = [random_body() || _ <- lists:seq(1, list_to_integer(Count))],
    Bodies = lists:enumerate([{Name, Body} || {Name, Body} <- bodies()] ++ [{random, Body} || Body <- Random]),
    Outcomes = [try_out(Number, Name, Body) || {Number, {Name, Body}} <- Bodies],
    Tell = fun(What) -> length([What || Outcome <- lists:append(Outcomes), Outcome =:= What]) end,
    io:format("~w bodies, ~w refused, ~w returned, ~w raised, ~w stopped~n",
              [length(Bodies) | [Tell(What) || What <- [refused, returned, raised, stopped]]]).

try_out(Number, Name, Body) ->
    Module = list_to_atom("hand_made_" ++ integer_to_list(Number)),
    case assemble(Module, Body) of
        {ok, Binary} ->
            %% What ends the machine is the last that was told.
            file:write(standard_error_file(), io_lib:format("~p: ~p~n", [Name, Body])),
            case code:load_binary(Module, atom_to_list(Module), Binary) of
                {module, Module} ->
                    Outcome = [call(Module, Value) || Value <- values()],
                    code:delete(Module),
                    code:purge(Module),
                    Outcome;
                {error, _} -> [refused]
            end;
        _ -> []
    end.

standard_error_file() ->
    case get(log) of
        undefined ->
            {ok, File} = file:open(os:getenv("HAND_MADE_LOG", "/dev/null"), [write, raw]),
            put(log, File),
            File;
        File -> File
    end.

call(Module, Value) ->
    Run = fun() ->
                  %% More words than are moved to a heap when they are looked at.
                  self() ! {a, lists:seq(1, 60), message},
                  self() ! {a, message},
                  Result = (catch {returned, Module:f(Value)}),
                  erlang:garbage_collect(),
                  put(kept, Result),
                  erlang:phash2(Result),
                  _ = (catch byte_size(term_to_binary(Result))),
                  erlang:garbage_collect(),
                  exit(case Result of {returned, _} -> returned; _ -> raised end)
          end,
    {Pid, Monitor} = spawn_opt(Run, [monitor, {max_heap_size, 300000}]),
    receive
        {'DOWN', Monitor, process, Pid, returned} -> returned;
        {'DOWN', Monitor, process, Pid, killed} -> stopped;
        {'DOWN', Monitor, process, Pid, _} -> raised
    after 50 ->
        exit(Pid, kill),
        receive {'DOWN', Monitor, process, Pid, _} -> stopped end
    end.

values() ->
    [an_atom, 0, 3, -1, 1 bsl 70, 2.5, [], [x], [x, y | z], {}, {one}, {tag, 2, 3}, list_to_tuple(lists:seq(1, 40)),
     <<>>, <<"some bytes of text">>, <<5:3>>, binary:copy(<<"long">>, 40), #{}, #{k => v},
     maps:from_list([{N, N} || N <- lists:seq(1, 60)]), self(), make_ref(), fun(X) -> X end, fun erlang:hd/1].

%% A module with f/1, and functions to call: g/1 is its own argument, p/1 a pair.
assemble(Module, Body) ->
    Function = fun(Name, Arity, Entry, Code) ->
                       {function, Name, Arity, Entry,
                        [{label, Entry - 1}, {line, []}, {func_info, {atom, Module}, {atom, Name}, Arity}, {label, Entry} | Code]}
               end,
    Code = [Function(f, 1, 2, Body),
            Function(g, 1, 52, [return]),
            Function(p, 1, 54, [{test_heap, 3, 1}, {put_tuple2, {x, 0}, {list, [{x, 0}, {atom, p}]}}, return])],
    try beam_asm:module({Module, [{f, 1}], [], Code, 60}, [], [], []) catch _:_ -> error end.

-define(X, {x, 0}).
-define(NONE, {f, 0}).
-define(FAIL, {f, 9}).

%% Whatever fails goes on there.
caught(Body) -> Body ++ [{label, 9}, {move, {atom, failed}, ?X}, return].

framed(Body) -> [{allocate, 2, 1}, {init_yregs, {list, [{y, 0}, {y, 1}]}}] ++ Body ++ [{deallocate, 2}, return].

%% Bodies that trust what they got, or asked for no room, or leave registers unset: {Name, Instructions}.
bodies() ->
    Lie = fun(Type) -> {tr, ?X, Type} end,
    Flags = {field_flags, []},
    Straight =
        [{take_list, [{get_list, ?X, {x, 1}, ?X}]},
         {take_head, [{get_hd, ?X, ?X}, {get_hd, ?X, ?X}]},
         {take_tail, [{get_tl, ?X, ?X}, {get_tl, ?X, ?X}]},
         {element_far, [{get_tuple_element, ?X, 70000, ?X}]},
         {element_next, [{get_tuple_element, ?X, 2, {x, 1}}, {get_tuple_element, ?X, 3, ?X}]},
         {element_of_element, [{get_tuple_element, ?X, 0, ?X}, {get_tuple_element, ?X, 0, ?X}]},
         {element_by_type, [{get_tuple_element, Lie({t_tuple, 9, true, #{}}), 8, ?X}]},
         {write_element, [{set_tuple_element, {atom, w}, ?X, 1}]},
         {write_far, [{set_tuple_element, {atom, w}, ?X, 90000}]},
         {write_literal, [{move, {literal, {a, b}}, ?X}, {set_tuple_element, {atom, w}, ?X, 0}]},
         {record, [{test_heap, 9, 1}, {update_record, {atom, copy}, 3, ?X, ?X, {list, [3, {atom, w}]}}]},
         {record_in_place, [{test_heap, 9, 1}, {update_record, {atom, inplace}, 8, ?X, ?X, {list, [8, {atom, w}]}}]},
         {record_without_room, [{update_record, {atom, copy}, 3, ?X, ?X, {list, [1, {atom, w}]}}]},
         {record_large, [{test_heap, 900, 1}, {update_record, {atom, copy}, 800, ?X, ?X, {list, [700, {atom, w}]}}]},
         {cons_without_room, lists:duplicate(20, {put_list, ?X, ?X, ?X})},
         {cons_with_little_room, [{test_heap, 2, 1} | lists:duplicate(2000, {put_list, ?X, ?X, ?X})]},
         {cons_in_a_loop, [{put_list, ?X, nil, ?X}, {call_only, 1, {f, 2}}]},
         {tuple_in_a_loop, [{test_heap, 2, 1}, {put_tuple2, ?X, {list, [?X, ?X]}}, {call_only, 1, {f, 2}}]},
         {empty_tuple, [{put_tuple2, ?X, {list, []}}]},
         {fun_without_room, [{make_fun3, {f, 54}, 0, 0, {x, 1}, {list, []}}]},
         {fun_of_too_little, [{test_heap, {alloc, [{words, 1}, {floats, 0}, {funs, 1}]}, 1},
                              {make_fun3, {f, 54}, 0, 0, ?X, {list, [?X, ?X]}}]},
         {room_for_one_of_two, [{test_heap, {alloc, [{words, 0}, {floats, 1}, {funs, 0}]}, 1}, {fconv, ?X, {fr, 0}},
                                {fmove, {fr, 0}, ?X}, {fmove, {fr, 0}, {x, 1}}]},
         {room_lost_in_bif, [{test_heap, 4, 1}, {gc_bif, '+', ?NONE, 1, [?X, {integer, 1}], {x, 1}}, {put_list, ?X, ?X, ?X}]},
         {bif_with_room, [{test_heap, 4, 1}, {bif, '+', ?NONE, [?X, {integer, 1}], {x, 1}}, {put_list, ?X, ?X, ?X}]},
         {float_of_anything, [{fmove, ?X, {fr, 0}}, {test_heap, {alloc, [{words, 0}, {floats, 1}]}, 0}, {fmove, {fr, 0}, ?X}]},
         {float_of_type, [{fmove, Lie({t_float, any}), {fr, 1}}, {test_heap, {alloc, [{words, 0}, {floats, 1}]}, 0}, {fmove, {fr, 1}, ?X}]},
         {float_of_nothing, [{test_heap, {alloc, [{words, 0}, {floats, 1}]}, 0}, {fmove, {fr, 3}, ?X}]},
         {float_sum, [{bif, fadd, ?NONE, [{fr, 0}, {fr, 5}], {fr, 0}}]},
         {add_by_type, [{gc_bif, '+', ?NONE, 1, [Lie({t_integer, {0, 9}}), {integer, 1}], ?X}]},
         {position, [{bs_get_position, ?X, ?X, 1}]},
         {go_to_position, [{bs_set_position, ?X, {integer, 999999999}}]},
         {rest, [{bs_get_tail, ?X, ?X, 1}]},
         {segment_without_start, [{bs_put_integer, ?NONE, {integer, 64}, 1, Flags, ?X}]},
         {string_without_start, [{bs_put_string, 3, {string, "abc"}}]},
         {segments_beyond, [{bs_init2, ?NONE, 3, 0, 1, Flags, {x, 1}} |
                            lists:duplicate(30, {bs_put_integer, ?NONE, {integer, 64}, 1, Flags, {integer, 7}})]},
         {moved_while_built, framed_part([{bs_init2, ?NONE, 40, 0, 1, Flags, {y, 0}}, {call_ext, 0, {extfunc, erlang, garbage_collect, 0}},
                                          {bs_put_integer, ?NONE, {integer, 64}, 1, Flags, {integer, 7}}])},
         {append_to_anything, [{bs_create_bin, ?NONE, 0, 1, 8, ?X,
                                {list, [{atom, private_append}, 1, 8, nil, ?X, {atom, all}, {atom, integer}, 1, 8, nil, ?X, {integer, 8}]}}]},
         {raise_anything, [{bif, raise, ?NONE, [?X, ?X], ?X}]},
         {raw_raise, [{move, ?X, {x, 1}}, {move, ?X, {x, 2}}, raw_raise]},
         {raw_error, [{move, ?X, {x, 1}}, {move, ?X, {x, 2}}, {move, {atom, error}, ?X}, raw_raise]},
         {trace_of_anything, [build_stacktrace]},
         {no_message, [remove_message]},
         {timeout_of_nothing, [timeout]},
         {message_left, looking([], [timeout | collected()], {y, 0})},
         {message_left_in_a_call, looking([], [{move, {y, 0}, ?X}, {call, 1, {f, 54}}, {move, ?X, {y, 1}} | collected()], {y, 0})},
         {message_left_for_another, looking([], [{loop_rec, {f, 8}, {y, 1}}, remove_message, {test_heap, 200, 0} | collected()], {y, 0})},
         {message_looked_at_twice, looking([], [{loop_rec, {f, 8}, ?X}, {move, ?X, {y, 1}}, remove_message | collected()], {y, 0})},
         {message_built_in, looking([{test_heap, 2, 1}, {put_list, ?X, {y, 0}, {y, 0}}], [remove_message | collected()], ?X)},
         {messages_built_in, looking([{test_heap, 2, 1}, {put_list, ?X, {y, 0}, {y, 0}}], [{loop_rec_end, {f, 7}}], ?X)},
         {messages_in_a_slot, looking([{move, ?X, {y, 0}}], [{loop_rec_end, {f, 7}}], ?X)},
         {messages_tested, looking([{test, is_tuple, {f, 6}, [?X]}, {get_tuple_element, ?X, 0, {y, 0}}],
                                   [{label, 6}, {loop_rec_end, {f, 7}}], ?X)},
         {message_parts_kept, looking([{test, is_tuple, {f, 6}, [?X]}, {test, test_arity, {f, 6}, [?X, 3]}, {get_tuple_element, ?X, 1, ?X},
                                       {test, is_nonempty_list, {f, 6}, [?X]}, {get_tl, ?X, {y, 0}}],
                                      [{move, {y, 0}, ?X}, {call, 1, {f, 54}} | collected()] ++ [{label, 6}, {loop_rec_end, {f, 7}}], ?X)},
         {message_raised, looking([], [{badmatch, ?X}], ?X)},
         {message_raised_in_place, looking([], [{bif, hd, ?NONE, [?X], {y, 0}}, {loop_rec_end, {f, 7}}], ?X)},
         {message_caught, [{allocate, 2, 1}, {init_yregs, {list, [{y, 0}]}}, {'catch', {y, 1}, {f, 6}}, {label, 7}, {loop_rec, {f, 8}, ?X},
                           {move, ?X, {y, 0}}, {call_ext, 1, {extfunc, erlang, throw, 1}}, {label, 6}, {catch_end, {y, 1}},
                           {loop_rec_end, {f, 7}}, {label, 8}, {catch_end, {y, 1}}, {move, {y, 0}, ?X}, {deallocate, 2}]},
         {message_sent_on, looking([{move, ?X, {y, 0}}, {move, ?X, {x, 1}}, {bif, self, ?NONE, [], ?X}, send], collected(), ?X)},
         {sent_to_itself, [{move, ?X, {x, 1}}, send]},
         {markers, [{recv_marker_reserve, {x, 1}}, {recv_marker_bind, ?X, ?X}, {recv_marker_clear, ?X}]},
         {marker_of_anything, [{recv_marker_use, ?X}]},
         {call_of_anything, framed_part([{call_fun, 0}])},
         {safe_call_of_anything, framed_part([{move, ?X, {x, 1}}, {call_fun2, {atom, safe}, 1, {x, 1}}])},
         {apply_of_anything, framed_part([{move, ?X, {x, 1}}, {apply, 0}])},
         {call_without_frame, [{call, 1, {f, 2}}]},
         {deep_recursion, framed_part([{call, 1, {f, 2}}])},
         {unset_slots, [{allocate, 3, 1}, {call, 1, {f, 52}}, {deallocate, 3}]},
         {raise_with_unset_slots, [{allocate, 3, 1}, {get_tuple_element, ?X, 0, ?X}, {badmatch, ?X}]},
         {unset_register, [{move, {x, 700}, ?X}]},
         {too_many_live, [{test_heap, 4, 9}, {put_list, {x, 5}, {x, 6}, ?X}]},
         {live_up_to_the_last, [{bs_create_bin, ?NONE, 4, 1024, 8, ?X, {list, []}}]},
         {no_guard_function, [{bif, garbage_collect, ?NONE, [], ?X}]},
         {spawns_in_a_guard, [{gc_bif, spawn, ?NONE, 1, [?X], ?X}]},
         {new_tuple_sent, framed_part([{move, {atom, v}, {x, 2}}, {move, ?X, {x, 1}}, {move, {integer, 1}, ?X},
                                       {call_ext, 3, {extfunc, erlang, setelement, 3}}, {move, ?X, {y, 0}},
                                       {call, 1, {f, 54}}, {set_tuple_element, {atom, w}, {y, 0}, 0}])},
         {new_tuple_of_itself, framed_part([{move, {atom, v}, {x, 2}}, {move, ?X, {x, 1}}, {move, {integer, 1}, ?X},
                                            {call_ext, 3, {extfunc, erlang, setelement, 3}}, {set_tuple_element, ?X, ?X, 0}])},
         {new_tuple_too_small, framed_part([{move, {atom, v}, {x, 2}}, {move, ?X, {x, 1}}, {move, {integer, 1}, ?X},
                                            {call_ext, 3, {extfunc, erlang, setelement, 3}}, {set_tuple_element, {atom, w}, ?X, 39}])},
         {result_of_a_function, framed_part([{call, 1, {f, 52}}, {get_tuple_element, ?X, 2, ?X}])},
         {pair_of_a_function, framed_part([{call, 1, {f, 54}}, {get_tuple_element, ?X, 2, ?X}])},
         {element_of_a_pair, framed_part([{call, 1, {f, 54}}, {get_tuple_element, ?X, 0, ?X}, {get_hd, ?X, ?X}])},
         {slot_changed_in_try, [{allocate, 2, 1}, {init_yregs, {list, [{y, 0}]}}, {test_heap, 3, 1}, {put_tuple2, {y, 0}, {list, [?X, ?X]}},
                                {'try', {y, 1}, {f, 8}}, {move, ?X, {y, 0}}, {call, 1, {f, 52}}, {badmatch, ?X},
                                {label, 8}, {try_case, {y, 1}}, {get_tuple_element, {y, 0}, 1, ?X}, {deallocate, 2}]},
         {case_without_try, [{allocate, 1, 1}, {'try', {y, 0}, {f, 8}}, {move, ?X, {x, 1}}, {move, ?X, {x, 2}},
                             {test, is_atom, {f, 8}, [?X]}, {try_end, {y, 0}}, {deallocate, 1}, return,
                             {label, 8}, {try_case, {y, 0}}, {move, {x, 2}, ?X}, {deallocate, 1}]}],
    Tests =
        [{arity, [{test, test_arity, ?FAIL, [?X, 3]}, {get_tuple_element, ?X, 2, ?X}]},
         {arity_of_none, [{test, is_tagged_tuple, ?FAIL, [?X, 0, {atom, tag}]}]},
         {tag, [{test, is_tagged_tuple, ?FAIL, [?X, 3, {atom, tag}]}, {get_tuple_element, ?X, 3, ?X}]},
         {tuple_of_any_size, [{test, is_tuple, ?FAIL, [?X]}, {get_tuple_element, ?X, 0, ?X}]},
         {either, [{test, is_tuple, {f, 8}, [?X]}, {test, test_arity, ?FAIL, [?X, 2]}, {label, 8}, {get_tuple_element, ?X, 1, ?X}]},
         {list_or_nil, [{test, is_list, ?FAIL, [?X]}, {get_hd, ?X, ?X}]},
         {not_nil, [{test, is_nil, {f, 8}, [?X]}, return, {label, 8}, {get_tl, ?X, ?X}]},
         {copy_tested, [{move, ?X, {x, 1}}, {test, is_nonempty_list, ?FAIL, [{x, 1}]}, {move, {atom, a}, {x, 1}}, {get_hd, {x, 1}, ?X}]},
         {select_arity, [{select_tuple_arity, ?X, ?FAIL, {list, [2, {f, 8}, 3, {f, 8}]}}, {label, 8}, {get_tuple_element, ?X, 2, ?X}]},
         {select_value, [{select_val, ?X, ?FAIL, {list, [{integer, 3}, {f, 8}, {integer, 1 bsl 70}, {f, 8}]}}, {label, 8}]},
         {has_keys, [{test, has_map_fields, ?FAIL, ?X, {list, [{atom, k}]}}]},
         {value_of_key, [{get_map_elements, ?FAIL, ?X, {list, [{atom, k}, ?X]}}]},
         {values_of_keys, [{get_map_elements, {f, 8}, ?X, {list, [{atom, k}, ?X, {atom, l}, {x, 1}]}}, return,
                           {label, 8}, {get_map_elements, ?FAIL, ?X, {list, [{atom, k}, ?X]}}]},
         {put_assoc, [{put_map_assoc, ?NONE, ?X, ?X, 1, {list, [?X, {atom, v}]}}]},
         {put_exact, [{put_map_exact, ?NONE, ?X, ?X, 1, {list, [?X, {atom, v}]}}]},
         {byte, [{test, bs_get_integer2, ?FAIL, 1, [?X, {integer, 8}, 1, Flags], ?X}]},
         {bits_of_anything, [{test, bs_get_binary2, ?FAIL, 1, [?X, ?X, 8, Flags], ?X}]},
         {float_segment, [{test, bs_get_float2, ?FAIL, 1, [?X, {integer, 64}, 1, Flags], ?X}]},
         {no_label, [{test, bs_get_binary2, ?NONE, 1, [?X, {atom, all}, 8, Flags], ?X}]},
         {skip, [{test, bs_skip_bits2, ?FAIL, [?X, {integer, 1 bsl 40}, 200, Flags]}]},
         {tail, [{test, bs_test_tail2, ?FAIL, [?X, 0]}]},
         {unit, [{test, bs_test_unit, ?FAIL, [?X, 8]}]},
         {string, [{test, bs_match_string, ?FAIL, [?X, 16, {string, "so"}]}]},
         {code_point, [{test, bs_get_utf8, ?FAIL, 1, [?X, Flags], ?X}]},
         {match_all, [{test, bs_start_match3, ?FAIL, 1, [?X], {x, 1}}, {bs_match, ?FAIL, {x, 1}, {commands, [{ensure_at_least, 8, 1}, {skip, 8}]}},
                      {bs_get_tail, {x, 1}, ?X, 2}]},
         {match_without_room, [{test, bs_start_match3, ?FAIL, 1, [?X], ?X},
                               {bs_match, ?FAIL, ?X, {commands, [{integer, 1, {literal, []}, 4000, 1, {x, 1}}]}}, {move, {x, 1}, ?X}]},
         {match_not_ensured, [{test, bs_start_match3, ?FAIL, 1, [?X], ?X},
                              {bs_match, ?FAIL, ?X, {commands, [{'=:=', nil, 64, 0}, {binary, 1, {literal, []}, 64, 8, {x, 1}}]}},
                              {move, {x, 1}, ?X}]},
         {context_returned, [{test, bs_start_match3, ?FAIL, 1, [?X], ?X}]},
         {context_in_a_list, [{test, bs_start_match3, ?FAIL, 1, [?X], ?X}, {test_heap, 2, 1}, {put_list, ?X, nil, ?X}]},
         {context_sent, [{test, bs_start_match3, ?FAIL, 1, [?X], {x, 1}}, {bif, self, ?NONE, [], ?X}, send]},
         {context_passed, [{test, bs_start_match3, ?FAIL, 1, [?X], ?X}, {call_only, 1, {f, 52}}]},
         {context_in_a_pair, [{test, bs_start_match3, ?FAIL, 1, [?X], ?X}, {allocate, 0, 1}, {call, 1, {f, 54}}, {deallocate, 0}]},
         {functions, [{test, is_function2, ?FAIL, [?X, ?X]}]}],
    [{Name, Body ++ [return]} || {Name, Body} <- Straight] ++ [{Name, caught(Body ++ [return])} || {Name, Body} <- Tests].

%% Looks at a message, does something, and goes on.
looking(Does, GoesOn, Where) ->
    framed_part([{label, 7}, {loop_rec, {f, 8}, Where} | Does] ++ GoesOn ++ [{label, 8}] ++ collected() ++ [{move, {y, 0}, ?X}]).

collected() -> [{call_ext, 0, {extfunc, erlang, garbage_collect, 0}}].

%% Without the `return` that is added to all.
framed_part(Body) -> lists:droplast(framed(Body)).

%% A straight run of instructions with operands that need not fit them; half of them in a frame.
random_body() ->
    Slots = case rand:uniform(2) of 1 -> []; 2 -> [{y, 0}, {y, 1}] end,
    Registers = [{x, 0}, {x, 0}, {x, 1}, {x, 2}] ++ Slots,
    First = [{move, ?X, {x, 1}}, {move, ?X, {x, 2}}],
    Instructions = [random_instruction(Registers, Slots) || _ <- lists:seq(1, 1 + rand:uniform(10))],
    Body = First ++ lists:append([prepared(Instruction, First) || Instruction <- Instructions]),
    caught(case Slots of
               [] -> Body ++ [return];
               _ -> framed(Body)
           end).

%% Mostly there is room for what is built, and calls leave other registers set than their result: else little would be loaded.
prepared(Instruction, First) ->
    case {element(1, if is_atom(Instruction) -> {Instruction}; true -> Instruction end), rand:uniform(8)} of
        {_, 1} -> [Instruction];
        {Builds, _} when Builds =:= put_list; Builds =:= put_tuple2; Builds =:= update_record -> [{test_heap, 9, 3}, Instruction];
        {make_fun3, _} -> [{test_heap, {alloc, [{words, 2}, {floats, 0}, {funs, 1}]}, 3}, Instruction];
        {fmove, _} when is_tuple(element(2, Instruction)), element(1, element(2, Instruction)) =:= fr ->
            [{fconv, {integer, 2}, element(2, Instruction)}, {test_heap, 2, 3}, Instruction];
        {Calls, _} when Calls =:= call; Calls =:= call_ext; Calls =:= call_fun2; Calls =:= send; Calls =:= build_stacktrace; Calls =:= loop_rec ->
            [Instruction | First];
        _ -> [Instruction]
    end.

random_instruction(Registers, Slots) ->
    R = fun() -> pick(Registers) end,
    S = fun() -> pick(Registers ++ [{atom, k}, {integer, 3}, nil, {literal, {a, b}}, {literal, [x]}, {literal, 2.5}, {literal, <<"bits">>}]) end,
    Size = fun() -> rand:uniform(5) - 1 end,
    Flags = {field_flags, []},
    Framed = case Slots of
                 [] -> [{move, S(), R()}];
                 _ -> [{call, 1, {f, pick([52, 54])}}, {call_ext, 1, {extfunc, erlang, pick([hd, tuple_size, abs, list_to_tuple]), 1}},
                       {call_fun2, {atom, unsafe}, 1, R()}, {init_yregs, {list, [pick(Slots)]}},
                       {call_ext, 3, {extfunc, erlang, setelement, 3}}]
             end,
    pick(Framed ++
             [{move, S(), R()}, {move, S(), R()}, {swap, R(), R()},
              {get_list, R(), R(), R()}, {get_hd, R(), R()}, {get_tl, R(), R()},
              {get_tuple_element, R(), Size(), R()}, {get_tuple_element, R(), Size(), R()}, {set_tuple_element, S(), R(), Size()},
              {test_heap, 4 * Size(), 3}, {test_heap, {alloc, [{words, Size()}, {floats, 2}, {funs, 1}]}, 3},
              {put_list, S(), S(), R()}, {put_tuple2, R(), {list, [S() || _ <- lists:seq(1, Size())]}},
              {make_fun3, {f, 54}, 0, 0, R(), {list, [S() || _ <- lists:seq(2, 1 + rand:uniform(2))]}},
              {update_record, {atom, copy}, 2, R(), R(), {list, [1 + Size() rem 2, S()]}},
              {test, pick([is_tuple, is_nonempty_list, is_list, is_map, is_float, is_binary, is_nil, is_function]), ?FAIL, [R()]},
              {test, test_arity, ?FAIL, [R(), Size()]}, {test, is_tagged_tuple, ?FAIL, [R(), 1 + Size(), {atom, tag}]},
              {test, pick([is_eq_exact, is_ne_exact, is_lt, is_eq]), ?FAIL, [S(), S()]},
              {test, has_map_fields, ?FAIL, R(), {list, [S()]}}, {get_map_elements, ?FAIL, R(), {list, [S(), R()]}},
              {put_map_assoc, ?NONE, R(), R(), 3, {list, [S(), S()]}},
              {bif, pick([hd, tl, tuple_size, 'not', node]), pick([?NONE, ?FAIL]), [S()], R()},
              {bif, element, pick([?NONE, ?FAIL]), [S(), S()], R()},
              {gc_bif, pick(['+', '-', '*', 'div', 'bsl']), pick([?NONE, ?FAIL]), 3, [S(), S()], R()},
              {gc_bif, pick([length, byte_size, map_size, abs]), pick([?NONE, ?FAIL]), 3, [S()], R()},
              {fmove, S(), {fr, Size()}}, {fconv, S(), {fr, Size()}}, {fmove, {fr, Size()}, R()},
              {bif, fadd, ?NONE, [{fr, Size()}, {fr, Size()}], {fr, Size()}},
              {test, bs_start_match3, ?FAIL, 3, [R()], R()}, {bs_start_match4, pick([{atom, no_fail}, {atom, resume}, ?FAIL]), 3, R(), R()},
              {test, bs_get_integer2, ?FAIL, 3, [R(), S(), 8, Flags], R()}, {test, bs_get_binary2, pick([?NONE, ?FAIL, ?FAIL]), 3, [R(), S(), 1, Flags], R()},
              {bs_get_tail, R(), R(), 3}, {bs_get_position, R(), R(), 3}, {bs_set_position, R(), S()},
              {bs_match, ?FAIL, R(), {commands, [{pick([integer, binary]), 3, {literal, []}, 8 * Size(), 1, R()}]}},
              {bs_create_bin, ?NONE, 2 * Size(), 3, 8, R(),
               {list, [{atom, pick([append, private_append, binary])}, 1, 8, nil, S(), {atom, all}, {atom, integer}, 1, 8, nil, S(), S()]}},
              {bs_init2, ?NONE, pick([Size(), 100]), Size(), 3, Flags, R()}, {bs_put_integer, ?NONE, {integer, 64}, 1, Flags, S()},
              build_stacktrace, send, {loop_rec, ?FAIL, R()}, remove_message, {recv_marker_bind, R(), R()}]).

pick(List) -> lists:nth(rand:uniform(length(List)), List).
