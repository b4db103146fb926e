v(5).
!a.
+!a <- .wait(v(X)); .print(X); .wait(v(_) & 3 < 4); .print(ok); .stopMAS.
