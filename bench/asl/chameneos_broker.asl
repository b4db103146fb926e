// Pairs whoever comes first with whoever comes next, until all meetings have taken place.
ready(0).
sums(0, 0, 0).    // creatures that have left, their meetings, the squares of their meetings

@ready[atomic]
+!ready : ready(K) & creatures(C)
  <- -+ready(K+1);
     if (K+1 == C) { !!open }.

+!open : meetings(M)
  <- +left(M);
     .nano_time(Start);
     +started(Start);
     .broadcast(achieve, go).

@none_left[atomic]
+!meet(_)[source(A)] : left(0)
  <- .send(A, achieve, stop).

@second[atomic]
+!meet(ColourA)[source(A)] : waiting(B, ColourB) & left(N)
  <- -waiting(B, ColourB);
     -+left(N-1);
     .send(B, achieve, met(ColourA));
     .send(A, achieve, met(ColourB)).

@first[atomic]
+!meet(Colour)[source(A)]
  <- +waiting(A, Colour).

@count[atomic]
+!count(K) : sums(Left, Sum, Squares) & creatures(C)
  <- -+sums(Left+1, Sum+K, Squares+K*K);
     // Each single one, for a picture.
     if (samples(1)) { .print("SAMPLE meetings=", K) };
     if (Left+1 == C) { !report }.

+!report : started(Start) & sums(C, Sum, Squares)
  <- .nano_time(End);
     Mean = Sum/C;
     // math.abs, because rounding can leave a tiny negative number where all are equal.
     Deviation = math.sqrt(math.abs(Squares/C - Mean*Mean));
     .print("RESULT bench=chameneos seconds=", (End-Start)/1000000000, " meetings_sd=", Deviation,
            " meetings_counted=", Sum/2);
     .stopMAS.
