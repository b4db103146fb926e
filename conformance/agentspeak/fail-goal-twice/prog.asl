!go.
+!go <- !a; !a; .stopMAS.
n(1).
+!a : n(X) <- .print(a,X); -+n(X+1); X > 1; .print(ok).
-!a <- .print(failed).
