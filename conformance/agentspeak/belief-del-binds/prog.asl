p(1,a). p(2,b). p(3,c).
!go.
+!go <- -p(X,b); .print(X); -p(3,Y); .print(Y); -p(Z,W); .print(Z,W); .count(p(_,_),N); .print(N); -p(Q,_); .print(Q); .stopMAS.
