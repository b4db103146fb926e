!go.
+!go <- !a(X); .print(X); !b(1,Y); .print(Y); !c(Z,W); .print(Z," ",W); !d(f(Q)); .print(Q); !e(R); R = 9; .print(R); !g([H|T]); .print(H,T); .stopMAS.
+!a(1).
+!b(N,M) <- M = N+1.
+!c(A,B) <- A = f(B); B = 3.
+!d(f(x)).
+!e(_).
+!g(L) <- L = [p,q,r].
