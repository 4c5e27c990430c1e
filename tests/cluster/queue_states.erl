%% queue_states: writes down each change of the state of this node's members of quorum queues, with its time.
-module(queue_states).
-export([start/0]).

-define(EACH, 5). % milliseconds

start() ->
    spawn(fun() ->
        {ok, File} = file:open(os:getenv("CLUSTER_QUEUE_STATES"), [append, raw]),
        watch(File, #{})
    end).

watch(File, Before) ->
    Now = maps:from_list(table()),
    maps:foreach(fun(Queue, State) ->
        case Before of
            #{Queue := State} -> ok;
            _ -> write(File, Queue, State)
        end
    end, Now),
    maps:foreach(fun(Queue, _) -> write(File, Queue, gone) end, maps:without(maps:keys(Now), Before)),
    timer:sleep(?EACH),
    watch(File, Now).

%% It is there while Ra runs. A row begins with the member and its state; newer ones go on.
table() ->
    try [{element(1, Row), element(2, Row)} || Row <- ets:tab2list(ra_state)] catch error:badarg -> [] end.

write(File, Queue, State) ->
    ok = file:write(File, io_lib:format("~b ~s ~s~n", [os:system_time(microsecond), Queue, State])).
