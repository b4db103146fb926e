%% A server answers fib(n); every request is computed by a process of its own, so small ones overtake large ones.
-module(fibonacci).
-export([run/1]).

run(#{clients := C, requests := R, max_n := Max} = Params) ->
    Large = maps:get(large_from, Params, 25),
    {Seconds, Samples} = bench:time(fun() -> collect(C, R, Max) end),
    Small = [Us || {N, Us} <- Samples, N =< 10],
    [{small_p50_us, bench:percentile(50, Small)}, {small_p99_us, bench:percentile(99, Small)},
     {small_max_us, bench:percentile(100, Small)},
     {large_p50_us, bench:percentile(50, [Us || {N, Us} <- Samples, N >= Large])}, {seconds, Seconds}].

collect(C, R, Max) ->
    Driver = self(),
    Server = spawn_link(fun server/0),
    [spawn_link(fun() -> Driver ! {samples, client(Server, R, Max, seed(I), [])} end) || I <- lists:seq(1, C)],
    lists:append([receive {samples, S} -> S end || _ <- lists:seq(1, C)]).

server() ->
    receive {fib, N, Client} -> spawn(fun() -> Client ! {answer, fib(N)} end) end,
    server().

client(_, 0, _, _, Samples) -> Samples;
client(Server, Left, Max, X, Samples) ->
    N = 1 + X rem Max,
    {Seconds, _} = bench:time(fun() -> Server ! {fib, N, self()}, receive {answer, F} -> F end end),
    client(Server, Left - 1, Max, step(X), [{N, Seconds * 1.0e6} | Samples]).

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

%% The same small generator in every peer, so that all compute the same requests.
seed(Client) -> step(Client * 48271 rem 2147483647).
step(X) -> X * 16807 rem 2147483647.
