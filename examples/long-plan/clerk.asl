// Clerk: counts the stages, so that a lost or repeated one is noticed.

count(0).

@counting[atomic]
+passed(Stage)
   <- ?count(N);
      -+count(N + 1);
      .print(N + 1, ". ", Stage).

+!close : count(N) & .findall(S, passed(S), Stages)
   <- .length(Stages, Different);
      .print(N, " stages, ", Different, " different ones");
      .stopMAS.
