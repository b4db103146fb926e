!go.
+!go <- !a; .stopMAS.
+!a <- +b(1); .print(continues).
+b(2) <- .print(never).
-!a <- .print(never).
