t(1,2,3). t(4,5,6).
!go.
+!go <- ?t(_,X,_); .print(X); ?t(_,5,_); !u(1,2,3); _x = 7; .print(_x); .findall(_y,t(_y,_,_),L); .print(L); .stopMAS.
+!u(_,_,Z) : t(_,_,Z) <- .print(Z).
