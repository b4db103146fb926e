+x(N)[source(S)] <- .print(N,S).
+y <- .wait(30); .count(y,C); .print(C); .stopMAS.
