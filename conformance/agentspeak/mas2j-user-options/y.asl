!s.
+!s <- !c(50); .wait(60); .stopMAS.
+!c(0) <- .print(zero).
+!c(N) <- !c(N-1).
