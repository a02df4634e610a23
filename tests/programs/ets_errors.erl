%% ETS: what each function says of wrong arguments, with the cause, and its results at the edges.
-module(ets_errors).
-export([main/1]).

-define(T(X), t(??X, fun() -> X end)).

t(Text, F) ->
    try F() of R -> io:format("~s -> ~p~n", [Text, R])
    catch C:X:Trace ->
        [{M, Fn, A, I} | _] = Trace,
        Arity = if is_list(A) -> length(A); true -> A end,
        Info = case proplists:get_value(error_info, I) of undefined -> none; Map -> lists:sort(maps:to_list(Map)) end,
        io:format("~s !! ~p ~p ~p:~p/~p ~p~n", [Text, C, X, M, Fn, Arity, Info])
    end.

main(_) ->
 S=ets:new(s,[public]), O=ets:new(o,[ordered_set,public]), B=ets:new(b,[bag]),ets:new(nm,[duplicate_bag,named_table]),
 Me=self(),
 P=spawn(fun() -> X=ets:new(prot,[named_table,protected]),Y=ets:new(priv,[named_table,private]),ets:insert(X,{a,1}),ets:insert(Y,{a,1}),Me!ok,receive stop->ok end end), receive ok->ok end,
 ?T(ets:lookup(nope,1)),?T(ets:lookup(make_ref(),1)),?T(ets:lookup(1,1)),?T(ets:lookup(priv,1)),?T(ets:insert(prot,{a,1})),?T(ets:insert(prot,bad)),?T(ets:insert(nope,bad)),
 ?T(ets:insert(S,bad)),?T(ets:insert(S,{})),?T(ets:insert(S,[])),?T(ets:insert(S,[{a,1}|b])),?T(ets:insert(S,[{a,1},b])),?T(ets:insert_new(S,[{a,1},b])),?T(ets:insert_new(S,[])),?T(ets:tab2list(S)),
 ?T(ets:delete(nope)),?T(ets:delete(prot)),?T(ets:delete(priv)),?T(ets:delete(prot,a)),?T(ets:delete_object(S,a)),?T(ets:delete_object(S,{})),?T(ets:delete_object(O,a)),
 ?T(ets:first(nope)),?T(ets:first(S)),?T(ets:next(S,a)),?T(ets:next(O,a)),?T(ets:prev(S,a)),?T(ets:last(S)),?T(ets:prev(O,a)),
 ?T(ets:lookup_element(S,a,2)),?T(ets:insert(S,{k,1,foo})),?T(ets:lookup_element(S,k,4)),?T(ets:lookup_element(S,k,0)),?T(ets:lookup_element(S,k,x)),?T(ets:lookup_element(S,zz,x)),
 ?T(ets:lookup_element(S,k,3)),
 ?T(ets:update_counter(S,k,1)),?T(ets:update_counter(S,k,{3,1})),?T(ets:update_counter(S,k,{4,1})),?T(ets:update_counter(S,k,{1,1})),?T(ets:update_counter(S,k,{0,1})),?T(ets:update_counter(S,k,{x,1})),?T(ets:update_counter(S,k,{2,x})),?T(ets:update_counter(S,k,{2,1,2})),?T(ets:update_counter(S,k,{2,1,2,x})),?T(ets:update_counter(S,k,[{2,1},{2,x}])),?T(ets:update_counter(S,k,[{2,1},{3,1}])),?T(ets:lookup(S,k)),?T(ets:update_counter(S,zz,1)),?T(ets:update_counter(B,k,1)),?T(ets:update_counter(S,zz,1,{x,0})),?T(ets:lookup(S,zz)),?T(ets:lookup(S,x)),?T(ets:update_counter(S,k,x)),?T(ets:update_counter(S,k,[{2,1}|x])),
 ?T(ets:update_counter(S,k,{2,1.0})),?T(ets:update_counter(S,k,1 bsl 70)),?T(ets:update_counter(S,k,-(1 bsl 70))),?T(ets:update_counter(S,k,{2,5,3,0})),?T(ets:update_counter(S,k,{2,-5,-1,7})),?T(ets:update_counter(S,k,{2,0,1,0})),
 ?T(ets:update_element(S,k,{2,x})),?T(ets:update_element(S,k,{1,x})),?T(ets:update_element(S,k,{9,x})),?T(ets:update_element(S,k,{0,x})),?T(ets:update_element(S,k,x)),?T(ets:update_element(S,k,[{2,1},x])),?T(ets:update_element(S,k,[{2,1}|x])),?T(ets:update_element(S,qq,{2,x})),?T(ets:update_element(S,qq,{1,x})),?T(ets:update_element(S,qq,{9,x})),?T(ets:update_element(S,qq,x)),?T(ets:update_element(B,k,{2,x})),?T(ets:update_element(S,k,[])),?T(ets:update_element(S,qq,[])),
 ?T(ets:new(nm,[named_table])),?T(ets:new(1,[])),?T(ets:new(a,[x])),?T(ets:new(a,x)),?T(ets:new(a,[set|x])),?T(ets:new(a,[{keypos,0}])),?T(ets:new(a,[{keypos,x}])),?T(is_reference(ets:new(a,[{heir,self(),x}]))),?T(ets:new(a,[{heir,x,x}])),?T(is_reference(ets:new(a,[{heir,none}]))),?T(ets:new(a,[{write_concurrency,x}])),?T(ets:new(a,[{read_concurrency,x}])),?T(ets:new(a,[{decentralized_counters,x}])),?T(is_reference(ets:new(a,[compressed]))),
 ?T(ets:info(nope)),?T(ets:info(make_ref())),?T(ets:info(1)),?T(ets:info(nope,size)),?T(ets:info(S,bad)),?T(ets:info(S,1)),?T(ets:info(1,size)),?T(ets:info(nope,bad)),?T(ets:info(S,binary)),?T(ets:info(priv,size)),
 [?T(ets:info(S,I)) || I <- [decentralized_counters,read_concurrency,write_concurrency,compressed,heir,name,size,node,named_table,type,keypos,protection,fixed,safe_fixed,safe_fixed_monotonic_time]],

 ?T(ets:rename(nope,x)),?T(ets:rename(S,1)),?T(ets:rename(nm,prot)),?T(ets:rename(S,nm)=:=S),?T(ets:rename(nm,nm)),?T(ets:rename(prot,nn)),
 ?T(ets:whereis(1)),?T(ets:whereis(nope)),?T(ets:whereis(make_ref())),
 ?T(ets:give_away(S,self(),x)),?T(ets:give_away(S,x,x)),?T(ets:give_away(prot,self(),x)),?T(ets:give_away(nope,self(),x)),
 Dead=spawn(fun()->ok end),timer:sleep(20),?T(ets:give_away(S,Dead,x)),
 ?T(ets:setopts(S,{heir,Dead,x})),?T(ets:setopts(S,{heir,none})),?T(ets:setopts(S,[{heir,none},{protection,protected}])),?T(ets:setopts(S,[{heir,none},{heir,none}])),?T(ets:setopts(S,x)),?T(ets:setopts(S,[x])),?T(ets:setopts(prot,[])),?T(ets:setopts(S,[])),?T(ets:setopts(S,{protection,bad})),?T(ets:setopts(nope,[])),?T(ets:setopts(S,{heir,x,y})),?T(ets:setopts(S,{protection,public})),
 ?T(ets:slot(S,-1)),?T(ets:slot(S,100000)),?T(ets:slot(S,x)),?T(ets:slot(O,0)),?T(ets:slot(O,1)),?T(ets:slot(O,x)),?T(ets:slot(nope,x)),
 ?T(ets:safe_fixtable(S,x)),?T(ets:safe_fixtable(nope,true)),?T(ets:safe_fixtable(S,false)),?T(ets:safe_fixtable(priv,true)),
 ?T(ets:delete_all_objects(nope)),?T(ets:delete_all_objects(prot)),
 ?T(ets:select(S,x)),?T(ets:select(S,[])),?T(ets:select(S,[x])),?T(ets:select(S,[{x,[],['$1']}])),?T(ets:select(S,[{{'$1'},[],[]}])),?T(ets:select(S,[{{'$1'},[{foo,1}],['$1']}])),?T(ets:select(nope,x)),?T(ets:select(priv,[])),?T(ets:select(S,[{'_',[],['$_']}],0)),?T(ets:select(S,[{'_',[],['$_']}],x)),?T(ets:select(x)),?T(ets:select('$end_of_table')),?T(ets:match('$end_of_table')),?T(ets:match_object('$end_of_table')),?T(ets:select_reverse('$end_of_table')),?T(ets:match(x)),
 ?T(ets:match(S,{'$1','_'})),?T(ets:match(S,foo)),?T(ets:match(S,'_')),?T(lists:sort(ets:match(S,'$1'))),?T(ets:match_object(S,foo)),?T(ets:match(nope,foo)),?T(ets:match_delete(nope,foo)),?T(ets:match_delete(S,foo)),
 ?T(ets:select_count(S,x)),?T(ets:select_delete(S,x)),?T(ets:select_replace(S,x)),?T(ets:select_replace(S,[{{'$1','$2'},[],['$2']}])),?T(ets:select_replace(B,[{{'$1','$2'},[],[{{'$1',3}}]}])),?T(ets:select_replace(S,[{{'$1','$2'},[],[{{'$1',3}}]}])),?T(ets:select_delete(prot,[{x,[],[true]}])),?T(ets:select_replace(prot,[])),?T(ets:select_count(nope,[])),?T(ets:select_delete(prot,[{'_',[],[true]}])),
 ?T(ets:match_spec_compile(x)),?T(ets:match_spec_compile([])),?T(ets:match_spec_compile([{x,[],[{foo}]}])),?T(ets:is_compiled_ms(x)),?T(ets:is_compiled_ms(make_ref())),?T(ets:match_spec_run_r([],x,[])),?T(ets:match_spec_run([],x)),?T(ets:match_spec_run_r(x,ets:match_spec_compile([]),[])),?T(ets:match_spec_run([{a}|b],ets:match_spec_compile([{'_',[],['$_']}]))),
 ?T(ets:take(nope,1)),?T(ets:take(prot,1)),?T(ets:take(S,1)),?T(ets:member(nope,1)),
 ?T(ets:update_counter(prot,a,1)),?T(ets:update_counter(prot,a,x)),
 P!stop, ok.
