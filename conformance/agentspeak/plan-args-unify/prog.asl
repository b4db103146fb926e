!go.
+!go <- !p(f(1,X),X); .print(X); !q([1,2,3],S); .print(S); !r(a,b); !r(a,a); .stopMAS.
+!p(f(A,B),C) <- B = g(A); .print(C).
+!q([],0).
+!q([H|T],S) <- !q(T,R); S = R+H.
+!r(X,X) <- .print(same,X).
+!r(X,Y) <- .print(X,Y).
