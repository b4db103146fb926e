// Has two calculators do its homework.

answers(0).  // a belief: how many it has got

!homework.

+!homework
   <- .send(calculator1, request, sum([1, 2, 3]));
      .send(calculator2, request, sum([20, 22])).

// What a calculator answers becomes a belief. Atomic: answers are dealt with one after the other.
@answer[atomic]
+sum(Sum)[source(Calculator)]
   : answers(N)
   <- .print(Calculator, " says ", Sum);
      -+answers(N + 1).

+answers(2) <- .stopMAS.
