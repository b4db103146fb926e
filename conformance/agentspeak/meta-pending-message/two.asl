^!g(X)[state(S)] <- .print(g, X, " ", S).
+!g(X) <- .print(work).
