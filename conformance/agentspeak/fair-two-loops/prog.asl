!a(3). !b(3).
+!a(0) <- .print(a_done).
+!a(N) <- .print(a,N); !a(N-1).
+!b(0) <- .print(b_done); .wait(20); .stopMAS.
+!b(N) <- .print(b,N); !b(N-1).
