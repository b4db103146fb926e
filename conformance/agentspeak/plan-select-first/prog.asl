!go.
+!go <- !s(1); !s(2); !s(10); !s(a); .stopMAS.
+!s(1) <- .print(one).
+!s(X) : X < 5 <- .print(small,X).
+!s(X) : X >= 5 & not X == a <- .print(big,X).
+!s(X) <- .print(other,X).
