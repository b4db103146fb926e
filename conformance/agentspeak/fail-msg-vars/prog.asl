!go.
+!go <- !t; .stopMAS.
+!t <- X = 5; .print(before); Y > X; .print(no).
-!t[error(E)] <- .print(E).
