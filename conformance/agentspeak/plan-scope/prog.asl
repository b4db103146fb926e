!go.
+!go <- X = 1; !a; .print(X); Y = 5; !b(Y); .print(Y); !c(Y,Z); .print(Z); .stopMAS.
+!a <- X = 2; .print(X).
+!b(Z) <- Y = Z+1; .print(Y).
+!c(A,B) <- X = A*2; B = X.
