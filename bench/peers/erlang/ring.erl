%% Token ring: each token is passed on `passes` times, all tokens at once, put in equally spaced.
-module(ring).
-export([run/1]).

run(#{workers := W, tokens := T, passes := N}) ->
    Workers = list_to_tuple(build(W)),
    {Seconds, ok} = bench:time(fun() ->
        [element(I * W div T rem W + 1, Workers) ! {token, N} || I <- lists:seq(0, T - 1)],
        await(T)
    end),
    [{seconds, Seconds}, {messages_per_s, T * N / Seconds}].

build(W) ->
    Driver = self(),
    Workers = [First | Others] = [spawn_link(fun() -> join(Driver) end) || _ <- lists:seq(1, W)],
    [Pid ! {next, Next} || {Pid, Next} <- lists:zip(Workers, Others ++ [First])],
    Workers.

join(Driver) ->
    receive {next, Next} -> pass(Next, Driver) end.

pass(Next, Driver) ->
    receive
        {token, 0} -> Driver ! spent;
        {token, N} -> Next ! {token, N - 1}
    end,
    pass(Next, Driver).

await(0) -> ok;
await(T) -> receive spent -> await(T - 1) end.
