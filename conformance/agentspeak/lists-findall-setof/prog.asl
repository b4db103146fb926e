e(3,c). e(1,a). e(2,b). e(1,b).
!go.
+!go <- .findall(X,e(X,_),L); .print(L); .setof(X,e(X,_),S); .print(S); .findall(p(Y,X),e(X,Y) & X < 3,M); .print(M); .findall(X,e(X,zz),N); .print(N); .setof(Y,e(_,Y),T); .print(T); .findall(X*10,e(X,_),O); .print(O); .findall(k,e(_,_),P); .print(P);
  .count(e(_,b),C); .print(C); .findall([X,Z],e(X,Z) & not Z == b,Q); .print(Q); K = 1; .findall(Z,e(K,Z),R); .print(R); .findall(L1,.member(G,[a,b]) & .findall(X,e(X,G),L1),U); .print(U); .stopMAS.
