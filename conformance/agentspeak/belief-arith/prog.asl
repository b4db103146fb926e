b(1+2). c(2*3,[4-1]). d(X) :- X = 2+2.
!go.
+!go <- ?b(X); .print(X); ?c(A,B); .print(A,B); ?d(D); .print(D); +e(X*2); ?e(E); .print(E); if (b(4-1)) { .print(match) }; ?c(6,[F]); .print(F); +f(X+Unb); ?f(G); .print(ok); .stopMAS.
