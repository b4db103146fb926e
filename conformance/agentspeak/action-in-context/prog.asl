!go.
+!go : .my_name(N) & .length([1,2],L) & L > 1 & .member(X,[a,b,c]) & X == b & not .empty([1]) & .concat("x","y",S) <- .print(N,L,X,S); !t([]); !t([1]); .stopMAS.
+!t(L) : .empty(L) <- .print(empty).
+!t([H|_]) : .number(H) & H*2 == Y & .range(Y,1,5) <- .print(Y).
+!t([H|_]) : H*2 = Y & .range(Y,1,5) <- .print("unified ",Y).
