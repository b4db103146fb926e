!go.
+!go <- !d(5); .print(end); .stopMAS.
+!d(0) <- .print(bottom); .fail.
+!d(N) <- .print(down,N); !d(N-1); .print(up,N).
-!d(N)[error(E)] <- .print("caught at ",N," ",E).
