@m1 +!make(X,N) : N > 1 <- .print("many ",X).
@m2 +!make(X,1) <- .print("one ",X).
