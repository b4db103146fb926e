!go.
+!go <- !d(3,R); .print(R); .stopMAS.
+!d(0,_) <- .fail.
+!d(N,R) <- !d(N-1,Q); R = Q+1.
-!d(0,R) <- R = 100.
-!d(N,R) <- R = 50; .print(N).
