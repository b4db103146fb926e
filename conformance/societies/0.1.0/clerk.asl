// Counts every stage, so that one that were lost or done twice would show.

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
