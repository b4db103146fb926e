!go.
+!go <- ?sq(4,R); .print(R); ?info(X,Y); .print(X,Y); if (sq(4,_)) { .print(bel) } else { .print(nobel) }; .stopMAS.
+?sq(A,B) <- B = A*A; +sqc(A,B).
+?info(a,b)[source(S)] <- .print(S).
