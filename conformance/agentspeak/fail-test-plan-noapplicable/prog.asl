!go.
+!go <- !t; .stopMAS.
+!t <- ?q(5,X); .print(X).
-!t[error(E)] <- .print(E).
+?q(A,B) : A < 3 <- B = A.
