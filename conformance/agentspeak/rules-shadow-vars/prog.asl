p(1,2). p(2,3).
r(X,Y) :- p(X,Z) & p(Z,Y).
s(A) :- r(A,B) & B > 2.
!go.
+!go <- X = 1; ?r(X,Y); .print(X,Y); Z = 9; ?r(A,B); .print(A,B,Z); if (s(1)) { .print(s) }; .findall(Q,s(Q),L); .print(L); .stopMAS.
