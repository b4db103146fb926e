!go.
+!go <- !a::g(1); !g(2); .stopMAS.
+!a::g(X) <- .fail.
-!a::g(X)[error(E)] <- .print("a::g ",X," ",E).
+!g(X) <- .fail.
-!g(X)[error(E)] <- .print("g ",X," ",E).
