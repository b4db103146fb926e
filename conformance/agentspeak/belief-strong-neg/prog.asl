light(on). ~door(open).
!go.
+!go <- if (light(on)) { .print(1) }; if (~light(on)) { .print(no) }; if (~door(open)) { .print(2) }; if (not door(open)) { .print(3) }; if (not ~door(closed)) { .print(4) };
  +~light(on); if (light(on) & ~light(on)) { .print(both) }; -light(on); if (~light(on) & not light(on)) { .print(only_neg) };
  -~door(open); .count(~door(_),N); .print(N); ?~light(Z); .print(Z); .stopMAS.
+~light(X) <- .print("+~light ",X).
-~door(X) <- .print("-~door ",X).
-light(X) <- .print("-light ",X).
