%% Messaging between two Erlang nodes over their own distribution. The runner drives it (../README.md has the protocol):
%%
%%     consume|produce SCENARIO PRODUCERS CONSUMERS BYTES MODE SECURITY MESSAGES FOLDER ADDRESS
%%
%% A process for each agent. Erlang's distribution has no multicast: a broadcast is sent to each consumer.
-module(messaging).
-export([main/1]).

-define(PACE_US, 1000).
-define(AT_ONCE, 64).
-define(TIMED_OF, 16).
-define(PATIENCE_MS, 300000).

main([Role, Scenario, Producers, Consumers, Bytes, Mode, _Security, Messages, _Folder, _Address]) ->
    Case = #{scenario => Scenario, producers => list_to_integer(Producers), consumers => list_to_integer(Consumers),
             bytes => list_to_integer(Bytes), paced => Mode =:= "paced", messages => list_to_integer(Messages)},
    case Role of
        "consume" -> consume(Case);
        "produce" -> produce(Case)
    end,
    wait_for_end(),
    halt(0).

%% How many messages each consumer gets.
due(#{scenario := "one-to-one", messages := Messages}) -> Messages;
due(#{messages := Messages, producers := Producers}) -> Messages * Producers.

consume(#{consumers := Count} = Case) ->
    Self = self(),
    Every = case Case of #{paced := true} -> 1; _ -> ?TIMED_OF end,
    Bytes = maps:get(bytes, Case),
    Pids = [spawn_link(fun() -> consumer(Self, Bytes, due(Case), Every, Every, 0, []) end) || _ <- lists:seq(1, Count)],
    register(consumers, spawn_link(fun() -> tell(Pids) end)),
    io:format("ready~n"),
    report(Case, [receive {consumed, Begun, Ended, Us} -> {Begun, Ended, Us} after ?PATIENCE_MS -> error(not_all_came) end
                  || _ <- Pids]).

tell(Pids) ->
    receive From -> From ! {consumers, Pids} end,
    tell(Pids).

consumer(Master, Bytes, Left, Every, UntilTimed, Begun, Us) ->
    receive
        <<Made:64/little, _/binary>> = Content when byte_size(Content) =:= Bytes ->
            if
                Left =:= 1; UntilTimed =:= 1; Begun =:= 0 ->
                    Now = os:system_time(nanosecond),
                    First = case Begun of 0 -> Now; _ -> Begun end,
                    {Next, All} = case UntilTimed of
                        1 -> {Every, [max(0, Now - Made) / 1000 | Us]};
                        _ -> {UntilTimed - 1, Us}
                    end,
                    case Left of
                        1 -> Master ! {consumed, First, Now, All};
                        _ -> consumer(Master, Bytes, Left - 1, Every, Next, First, All)
                    end;
                true ->
                    consumer(Master, Bytes, Left - 1, Every, UntilTimed - 1, Begun, Us)
            end
    end.

report(#{consumers := Count} = Case, All) ->
    Begun = lists:min([B || {B, _, _} <- All]),
    Ended = lists:max([E || {_, E, _} <- All]),
    Us = list_to_tuple(lists:sort(lists:append([U || {_, _, U} <- All]))),
    io:format("{\"deliveries\": ~b, \"seconds\": ~.4f, \"p50_us\": ~.1f, \"p99_us\": ~.1f}~n",
              [due(Case) * Count, (Ended - Begun) / 1.0e9, percentile(50, Us), percentile(99, Us)]).

percentile(_, {}) -> 0.0;
percentile(Part, Us) -> element(max(1, ceil(Part / 100 * tuple_size(Us))), Us) * 1.0.

produce(#{scenario := Scenario, producers := Count} = Case) ->
    Pids = consumers(100),
    io:format("ready~n"),
    io:get_line(""),
    Begin = erlang:monotonic_time(microsecond) + 100000,
    lists:foreach(fun(Index) ->
        To = case Scenario of
            "one-to-one" -> [lists:nth(Index, Pids)];
            "many-to-one" -> [hd(Pids)];
            "broadcast" -> Pids
        end,
        spawn_link(fun() -> producer(Case, To, Begin + ?PACE_US * (Index - 1) div Count) end)
    end, lists:seq(1, Count)).

%% The consumers' pids, from the other node.
consumers(0) -> error("the other node does not answer");
consumers(Tries) ->
    {consumers, 'consume@localhost'} ! self(),
    receive {consumers, Pids} -> Pids after 100 -> consumers(Tries - 1) end.

producer(#{paced := Paced, bytes := Bytes, messages := Messages}, To, Begin) ->
    Rest = binary:copy(<<"x">>, Bytes - 8),
    case Paced of
        true -> paced(To, Rest, Begin, Messages);
        false -> saturated(To, Rest, Messages)
    end.

%% Erlang's timers have steps of a millisecond.
paced(_, _, _, 0) -> ok;
paced(To, Rest, Due, Left) ->
    Early = Due - erlang:monotonic_time(microsecond),
    receive after max(0, (Early + 999) div 1000) -> ok end,
    send(To, Rest, 1),
    paced(To, Rest, Due + ?PACE_US, Left - 1).

saturated(_, _, 0) -> ok;
saturated(To, Rest, Left) ->
    Count = min(Left, ?AT_ONCE),
    send(To, Rest, Count),
    saturated(To, Rest, Left - Count).

send(To, Rest, Count) ->
    Content = <<(os:system_time(nanosecond)):64/little, Rest/binary>>,
    repeat(To, Content, Count).

repeat(_, _, 0) -> ok;
repeat(To, Content, Count) ->
    [Pid ! Content || Pid <- To],
    repeat(To, Content, Count - 1).

wait_for_end() ->
    case io:get_line("") of
        eof -> ok;
        {error, _} -> ok;
        _ -> wait_for_end()
    end.
