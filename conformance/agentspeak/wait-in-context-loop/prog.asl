!go.
+!go <- !poll(0).
+!poll(N) : N < 3 <- .print(poll,N); .wait(15); !poll(N+1).
+!poll(_) <- .print(done); .stopMAS.
