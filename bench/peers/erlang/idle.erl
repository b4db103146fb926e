%% N processes that start, say so, and wait for mail: how long to have them all, and what one costs in resident memory.
-module(idle).
-export([run/1]).

run(#{agents := N}) ->
    Started = atomics:new(1, []),
    Before = resident_bytes(),
    {Seconds, ok} = bench:time(fun() -> create(N, Started), await(N, Started) end),
    [{seconds, Seconds}, {bytes_per_agent, (resident_bytes() - Before) / N}].

create(0, _) -> ok;
create(N, Started) ->
    spawn(fun() -> atomics:add(Started, 1, 1), wait() end),
    create(N - 1, Started).

wait() -> receive stop -> ok; _ -> wait() end.

await(N, Started) ->
    case atomics:get(Started, 1) of
        N -> ok;
        _ -> erlang:yield(), await(N, Started)
    end.

resident_bytes() ->
    {ok, Status} = file:read_file("/proc/self/status"),
    {match, [Kb]} = re:run(Status, "VmRSS:\\s+(\\d+) kB", [{capture, all_but_first, list}]),
    list_to_integer(Kb) * 1024.
