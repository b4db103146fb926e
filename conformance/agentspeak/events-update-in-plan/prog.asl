cnt(0).
!go.
+!go <- +tick; +tick2; .wait(20); ?cnt(X); .print(X); .stopMAS.
+tick : cnt(N) <- -+cnt(N+1); +tock.
+tock : cnt(N) <- -+cnt(N+10).
+tick2 : cnt(N) <- -+cnt(N+100).
+cnt(N) <- .print("cnt ",N).
