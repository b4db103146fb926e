// Python takes a moment to start: the first percepts come when the environment has begun.
!begin.
+!begin <- .wait(position(_, _)); !clean.

// A call in a context: the nearest garbage that is not too far comes first.
+!clean
   : position(X, Y) & .findall([GX, GY], garbage(GX, GY), Cells) & py.by_distance(X, Y, Cells, ToX, ToY, Steps)
   <- .print("garbage at ", ToX, ",", ToY, ": ", Steps, " steps");
      // A call as a step: only this intention waits.
      py.directions(X, Y, ToX, ToY, Way);
      for (.member(Direction, Way)) { move(Direction) };
      pick;
      !clean.
+!clean
   <- !bump;
      .print("the floor is clean");
      .stopMAS.

+!bump <- move(up); move(up); move(up); move(up); move(up).
-!bump[failure_reason(R)] <- .print("cannot go on: ", R).
