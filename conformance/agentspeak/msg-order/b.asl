+n(X) <- .print(X).
+last <- .wait(30); .count(n(_),N); .print(total,N); .stopMAS.
