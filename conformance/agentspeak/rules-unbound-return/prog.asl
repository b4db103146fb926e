r(X,Y) :- X = f(Z) & Y = Z.
s(_,3).
t(X) :- true.
!go.
+!go <- ?r(A,B); .print(ok); B = 5; .print(A); ?s(C,D); .print(D); ?t(k); .print(t); ?r(f(9),E); .print(E); .stopMAS.
