// An intention waits for a goal that an atomic plan pursues.
!a. !b.
+!a <- .wait("+!g(5)"); .print(woken); .stopMAS.
@p[atomic] +!b <- .print(b); !g(5); .print(b2); +bel(1); .print(b3).
+!g(X) <- .print(g(X)).
