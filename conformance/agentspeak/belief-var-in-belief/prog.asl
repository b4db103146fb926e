likes(bob,_). f(X,X). g(X) :- X > 3.
!go.
+!go <- if (likes(bob,anything)) { .print(1) }; if (f(2,2)) { .print(2) }; if (f(1,2)) { .print(bad) } else { .print(3) }; ?f(Z,7); .print(Z); if (g(5)) { .print(4) };
  +h(A,k); ?h(B,k); +m(C,C); ?m(1,D); .print(ok); .count(likes(_,_),N); .print(N); .stopMAS.
