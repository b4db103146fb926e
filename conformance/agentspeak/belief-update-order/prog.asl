c(0).
!go.
+!go <- !inc; !inc; !inc; ?c(X); .print(X); .wait(20); .stopMAS.
+!inc : c(N) <- -+c(N+1).
+c(N) <- .print("now ",N).
-c(N) <- .print("was ",N).
