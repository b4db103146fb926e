c(0).
!inc(5,a). !inc(5,b).
+!inc(0,_) <- +done; .count(done,_).
+!inc(N,W) <- !one(W); !inc(N-1,W).
@o[atomic] +!one(W) : c(X) <- -c(X); .print(W,X); +c(X+1).
+c(10) <- .print(ten); .wait(20); .stopMAS.
