%% Creatures of three colours meet in pairs through a broker; both leave with the complement colour.
-module(chameneos).
-export([run/1]).

run(#{creatures := C, meetings := M}) ->
    {Seconds, Counts} = bench:time(fun() -> society(C, M) end),
    [{seconds, Seconds}, {meetings_sd, deviation(Counts)}].

society(C, M) ->
    Driver = self(),
    Broker = spawn_link(fun() -> broker(M, none) end),
    [spawn_link(fun() -> creature(Broker, Driver, colour(I), 0) end) || I <- lists:seq(1, C)],
    [receive {count, K} -> K end || _ <- lists:seq(1, C)].

broker(0, _) ->
    receive {meet, Pid, _} -> Pid ! stop end,
    broker(0, none);
broker(Left, none) ->
    receive {meet, Pid, Colour} -> broker(Left, {Pid, Colour}) end;
broker(Left, {First, FirstColour}) ->
    receive
        {meet, Second, SecondColour} ->
            First ! {met, SecondColour},
            Second ! {met, FirstColour},
            broker(Left - 1, none)
    end.

creature(Broker, Driver, Colour, Met) ->
    Broker ! {meet, self(), Colour},
    receive
        {met, Other} -> creature(Broker, Driver, complement(Colour, Other), Met + 1);
        stop -> Driver ! {count, Met}
    end.

complement(Same, Same) -> Same;
complement(blue, red) -> yellow;
complement(red, blue) -> yellow;
complement(blue, yellow) -> red;
complement(yellow, blue) -> red;
complement(red, yellow) -> blue;
complement(yellow, red) -> blue.

colour(I) -> element(I rem 3 + 1, {blue, red, yellow}).

deviation(Counts) ->
    Mean = lists:sum(Counts) / length(Counts),
    math:sqrt(lists:sum([(K - Mean) * (K - Mean) || K <- Counts]) / length(Counts)).
