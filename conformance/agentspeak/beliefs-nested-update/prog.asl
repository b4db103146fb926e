stock([item(a,3),item(b,5)]).
!go.
+!go <- !take(a,2); !take(b,5); !take(c,1); ?stock(L); .print(L); .stopMAS.
+!take(I,N) : stock(L) & .member(item(I,Q),L) & Q >= N <- .delete(item(I,Q),L,R); .concat(R,[item(I,Q-N)],S); -+stock(S).
+!take(I,_) <- .print("no ",I).
