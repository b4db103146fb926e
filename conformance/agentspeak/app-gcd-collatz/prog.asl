gcd(X,0,X).
gcd(X,Y,G) :- Y > 0 & gcd(Y,X mod Y,G).
!go.
+!go <- ?gcd(48,36,G); .print(G); !collatz(6,S); .print(S); .stopMAS.
+!collatz(1,[1]).
+!collatz(N,[N|T]) : N mod 2 == 0 <- !collatz(N/2,T).
+!collatz(N,[N|T]) <- !collatz(3*N+1,T).
