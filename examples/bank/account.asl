// Account: begins with 100, and gives parts of it to other accounts until it is told to stop.
// Gifts are numbered, so that a lost or repeated one is noticed.

balance(100).
given(0).

given_to(To, N) :- gift(To, N).
given_to(To, 0) :- not gift(To, _).
taken_from(From, N) :- taken(From, N).
taken_from(From, 0) :- not taken(From, _).

!trade.

+!trade : enough.
+!trade
   <- .random(R);
      To = math.floor(R * 8) + 1;
      .concat("account", To, Name);
      !give(Name);
      .wait(40);
      !trade.

+!give(Name) : .my_name(Me) & .term2string(Me, Name).
@give[atomic]
+!give(Name) : balance(B) & B > 0 & given_to(Name, N) & given(All)
   <- .random(R);
      Amount = math.floor(R * B / 4) + 1;
      -+balance(B - Amount);
      -gift(Name, N);
      +gift(Name, N + 1);
      -+given(All + 1);
      .send(Name, achieve, take(N + 1, Amount));
      .print("gift ", All + 1).
+!give(_).

@take[atomic]
+!take(N, Amount)[source(From)] : taken_from(From, Last) & N == Last + 1 & balance(B)
   <- -+balance(B + Amount);
      -taken(From, Last);
      +taken(From, N).
+!take(N, _)[source(From)] : taken_from(From, Last) & N <= Last
   <- .print("doubled: gift ", N, " of ", From).
+!take(N, _)[source(From)]
   <- .print("lost: gift ", N, " of ", From, " came too early").
