r(1). r(2). c(a). c(b).
!go.
+!go <- for (r(X)) { for (c(Y)) { .print(X,Y) }; .print("row ",X) }; for (r(X) & X > 1) { .print("big ",X) }; for (.range(K,1,3) & K mod 2 == 1) { .print(odd,K) }; for (r(A) & c(B)) { +pair(A,B) }; .count(pair(_,_),N); .print(N); .stopMAS.
