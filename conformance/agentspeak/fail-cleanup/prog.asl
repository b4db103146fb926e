!go.
+!go <- !work(1); !work(0); .print(done); .stopMAS.
+!work(X) <- +lock; .print("working ",X); X > 0; -lock; .print("ok ",X).
-!work(X) : lock <- -lock; .print("released ",X).
-lock <- .print("unlock").
