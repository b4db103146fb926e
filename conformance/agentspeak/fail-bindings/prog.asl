!go.
+!go <- !get(1,X); .print(X); !get(2,Y); .print(Y); .stopMAS.
+!get(1,V) <- V = one.
+!get(2,V) <- .fail.
-!get(N,V) <- V = default(N).
