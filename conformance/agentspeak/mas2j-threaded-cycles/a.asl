!s.
+!s <- !c(3); .wait(20); .stopMAS.
+!c(0) <- .print(zero).
+!c(N) <- .print(N); !c(N-1).
