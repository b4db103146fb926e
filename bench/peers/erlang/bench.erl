%% Entry point of the Erlang peer: reads `NAME --option value ...`, runs one benchmark, prints one JSON line.
-module(bench).
-export([main/0, time/1, percentile/2]).

main() ->
    [Name | Rest] = init:get_plain_arguments(),
    Params = options(Rest),
    Metrics = run(Name, Params),
    io:format("{\"bench\": \"~s\", \"version\": \"~s\", \"machine\": ~s, \"params\": ~s, \"metrics\": ~s}~n",
              [Name, version(), object(machine()), object(maps:to_list(Params)), object(Metrics)]),
    halt(0).

run("ring", P) -> ring:run(P);
run("chameneos", P) -> chameneos:run(P);
run("fibonacci", P) -> fibonacci:run(P);
run("spawn", P) -> idle:run(P).

options([]) -> #{};
options(["--" ++ Name, Value | Rest]) ->
    Key = list_to_atom([case C of $- -> $_; _ -> C end || C <- Name]),
    (options(Rest))#{Key => list_to_integer(Value)}.

%% Seconds that Work takes, with what it returns.
time(Work) ->
    Start = erlang:monotonic_time(nanosecond),
    Result = Work(),
    {(erlang:monotonic_time(nanosecond) - Start) / 1.0e9, Result}.

%% Nearest-rank percentile; null where there is no sample at all.
percentile(_, []) -> null;
percentile(P, Samples) ->
    lists:nth(max(1, ceil(P / 100 * length(Samples))), lists:sort(Samples)).

version() ->
    ["Erlang/OTP ", erlang:system_info(otp_release), " (erts ", erlang:system_info(version), ")"].

machine() ->
    {_, Os} = os:type(),
    [{os, Os}, {arch, hd(string:split(erlang:system_info(system_architecture), "-"))},
     {cores, erlang:system_info(logical_processors)}].

object(Pairs) ->
    ["{", lists:join(", ", [["\"", atom_to_list(K), "\": ", value(V)] || {K, V} <- Pairs]), "}"].

value(null) -> "null";
value(V) when is_integer(V) -> integer_to_list(V);
value(V) when is_float(V) -> float_to_list(V, [{decimals, 6}, compact]);
value(V) when is_atom(V) -> ["\"", atom_to_list(V), "\""];
value(V) -> ["\"", V, "\""].
