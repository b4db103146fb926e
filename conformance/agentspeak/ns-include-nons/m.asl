p(inc1). p(inc2).
!inc_goal.
+!inc_goal <- .print("goal from include").
+!hello(X) <- .print("hello ",X).
