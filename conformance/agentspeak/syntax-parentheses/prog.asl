a. b. c(1).
!go.
+!go : (a & b) & ((c(X))) <- .print(((X+1))*2); if (not (not a)) { .print(notnot) }; if ((a | zz) & (b)) { .print(group) }; Y = (X+2)*(X+3); .print(Y); Z = ((f(X))); .print(Z); (.print(g1); .print(g2)); .stopMAS.
