tries(0).
!go.
+!go <- !try; .print("done"); .stopMAS.
+!try : tries(N) & N < 3 <- -+tries(N+1); .print("try ",N); .fail.
+!try <- .print("give up").
-!try <- .print("retry"); !try.
