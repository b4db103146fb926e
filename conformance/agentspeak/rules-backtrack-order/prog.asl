e(1,2). e(1,3). e(2,4). e(3,4). e(4,5).
path(X,X,[X]).
path(X,Y,[X|P]) :- e(X,Z) & path(Z,Y,P).
!go.
+!go <- .findall(P,path(1,5,P),L); .print(L); ?path(1,4,Q); .print(Q); .count(path(1,_,_),N); .print(N); .setof(Y,path(1,Y,_),S); .print(S); .stopMAS.
