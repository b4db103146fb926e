{ begin namespace(k) }
b(1)[source(bob)]. c(self).
+!run <- ?b(X)[source(S)]; .print(X,S); ?c(Y); .print(Y); Z = b; .print(Z); +d(b(2)); ?d(W); .print(W); .findall(Q,b(Q),L); .print(L); .length(L,N); if (N == 1 & true) { .print(one) }.
{ end }
!go.
+!go <- !k::run; .stopMAS.
