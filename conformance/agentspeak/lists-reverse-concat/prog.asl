!go.
+!go <- .reverse([1,2,3],R); .print(R); .reverse([],E); .print(E); .reverse([a,[b,c]],S); .print(S); .concat(R,[0],[9],L); .print(L); if (.reverse([1,2],[2,1])) { .print(yes) }; .concat([X],[Y],[1,2]); .print(X,Y); .stopMAS.
