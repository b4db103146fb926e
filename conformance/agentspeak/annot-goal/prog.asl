!go.
+!go <- !g(1)[a]; !g(2)[b(3)]; !g(3); !g(4)[a,b(9)]; .stopMAS.
+!g(X)[a,b(Y)] <- .print("ab ",X,Y).
+!g(X)[a] <- .print("a ",X).
+!g(X)[b(Y)] <- .print("b ",X," ",Y).
+!g(X)[|R] <- .print("none ",X,R).
