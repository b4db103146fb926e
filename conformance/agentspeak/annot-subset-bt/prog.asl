b[s(1),s(2),s(3)].
!go.
+!go <- .findall(X,b[s(X)],L); .print(L); .findall(X-Y,b[s(X),s(Y)],L2); .print(L2); .findall(f(X,Y),b[s(X),s(Y)] & X > 1,L3); .print(L3); ?b[s(Z)] ; .print(Z); .count(b[s(_)],N); .print(N); .stopMAS.
