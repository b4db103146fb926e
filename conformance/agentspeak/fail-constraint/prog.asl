!go.
+!go <- !t(5); !t(1); .stopMAS.
+!t(X) <- X > 2; X * 2 = Y; .print(Y).
-!t(X)[error(E),code(C)] <- .print(X," ",E," ",C).
