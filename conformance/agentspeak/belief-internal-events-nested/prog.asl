!go.
+!go <- +a; .print(end); .stopMAS.
+a <- .print(a1); +b; .print(a2).
+b <- .print(b1); -a; .print(b2).
-a <- .print(da).
