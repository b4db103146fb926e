!go.
+!go <- !a; !b; !c; .stopMAS.
+!a <- X; .print(no).
-!a[error(E)] <- .print(E).
+!b <- X = 3; X; .print(no).
-!b[error(E)] <- .print(E).
+!c <- X = {.print(x)}; +X; .print(no).
-!c[error(E)] <- .print(E).
