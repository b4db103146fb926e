// Colony: has devices search for better tours, and stores the best one that it has checked itself.

{ include("problems/berlin52.asl") }
{ include("problems/eil51.asl") }
{ include("problems/a280.asl") }

// Number of parts in work at a time: idle devices take the next one at once.
at_once(16).
// Length of a part: about a second on most devices, for 280 places.
rounds(40).
best(none, [], nobody).
searched(0).

way(A, B, Cities, D)
   :- .nth(A, Cities, [X, Y]) & .nth(B, Cities, [V, W])
   & D = math.round(math.sqrt((X - V) ** 2 + (Y - W) ** 2)).

round_trip([Last], First, Cities, D) :- way(Last, First, Cities, D).
round_trip([A, B|T], First, Cities, D) :- way(A, B, Cities, C) & round_trip([B|T], First, Cities, E) & D = C + E.

// A tour visits each place once, and has the stated length.
is_tour([First|T], Length, Cities)
   :- .length(Cities, N) & .findall(I, .range(I, 0, N - 1), All) & .sort([First|T], All)
   & round_trip([First|T], First, Cities, Length).

better(Length) :- best(none, _, _).
better(Length) :- best(Least, _, _) & .number(Least) & Length < Least.

// With the belief at_least(N), the colony continues for N searches, even after the shortest tour is found.
enough(_) :- not at_least(_).
enough(N) :- at_least(Least) & N >= Least.

shortest_is(Length) :- solve(P) & problem(P, Length, _).

!begin.

+!begin : solve(P) & problem(P, Length, Cities) & at_once(N)
   <- .length(Cities, Places);
      .print("who finds a round trip through the ", Places, " places of ", P, "? The shortest is ", Length, " long");
      for (.range(I, 1, N)) { !!search(I) };
      !!tell.

+!search(_) : over.
+!search(Seed) : solve(P) & problem(P, _, Cities) & best(_, Known, _) & at_once(N) & rounds(Rounds)
   <- .send(devices, askOne, share(ants, search(P, Cities, Known, Seed, Rounds), [named(true)]), done(Found, [Who|_]));
      !consider(Found, Who);
      !!search(Seed + N).
// The part was given up, or there is no device: try again later.
-!search(Seed) : at_once(N) <- .wait(500); !!search(Seed + N).

@consider[atomic]
+!consider(found(Length, Tour), Who) : not over & better(Length) & solve(P) & problem(P, _, Cities) & is_tour(Tour, Length, Cities)
   <- -+best(Length, Tour, Who);
      .print(Length, " by ", Who);
      !thank(Who);
      !publish;
      !end_if_found.
@count[atomic]
+!consider(found(_, _), Who) : not over <- !thank(Who); !end_if_found.
+!consider(_, _).

+!thank(Who) : gave(Who, N) <- -gave(Who, N); +gave(Who, N + 1); !count.
+!thank(Who) <- +gave(Who, 1); !count.
+!count : searched(N) <- -+searched(N + 1).

// For devices that join later, too.
+!tell <- !publish; .wait(1000); !!tell.
+!publish : solve(P) & problem(P, Shortest, Cities) & best(Length, Tour, Who) & searched(N)
   <- .findall(gave(Name, Parts), gave(Name, Parts), Gave);
      .publish(ants, tell, best(P, Shortest, Cities, Length, Tour, Who, N, Gave)).

+!end_if_found : best(Length, _, _) & shortest_is(Length) & searched(N) & enough(N) <- +over; !!end.
+!end_if_found.

+!end : best(Length, _, Who) & searched(N)
   <- .count(gave(_, _), Devices);
      .print("that is the shortest: ", N, " searches by ", Devices, " devices, the last step by ", Who);
      .wait(1500);
      .stopMAS.
