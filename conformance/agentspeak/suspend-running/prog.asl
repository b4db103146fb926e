!go. !w(1).
+!go <- .print(g1); .suspend(w(_)); .print(g2); .print(g3); .print(g4); .resume(w(_)); .print(g5); .wait(30); .stopMAS.
+!w(N) : N < 6 <- .print(w,N); !w(N+1).
+!w(N) <- .print(w_end).
