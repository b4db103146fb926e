k(1). k(2).
!go.
+!go <- Y = 5; if (k(X)) { Z = X+Y; .print(Z) }; .print(X," ",Z); for (k(W)) { V = W*2; .print(V) }; .print(W," ",V); if (k(9)) { Q = 1 } else { Q = 2 }; .print(Q); while (k(U) & not done(U)) { +done(U); T = U; .print(T) }; .print(U," ",T); .stopMAS.
