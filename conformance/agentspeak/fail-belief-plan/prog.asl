!go.
+!go <- !a; .print(end); .stopMAS.
+!a <- +b; .print("not reached").
+b <- .print(b); .fail.
-!a[error(E)] <- .print("a handler ",E).
