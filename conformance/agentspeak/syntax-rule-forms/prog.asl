p(1). p(2). q(2). q(3).
r1(X) :- p(X) & q(X).
r2(X) :- p(X) | q(X).
r3(X) :- p(X) & not q(X).
r4(X,Y) :- p(X) & q(Y) & X < Y.
r5(X) :- X = 7.
r6(X) :- .member(X,[a,b]).
r7 :- p(_).
r8(X,Z) :- (p(X) | q(X)) & Z = X*10.
~r9(X) :- p(X).
r10(X)[lab] :- p(X).
!go.
+!go <- .findall(X,r1(X),L1); .print(L1); .findall(X,r2(X),L2); .print(L2); .findall(X,r3(X),L3); .print(L3); .findall(f(X,Y),r4(X,Y),L4); .print(L4);
  ?r5(A); .print(A); .findall(X,r6(X),L6); .print(L6); if (r7) { .print(r7) }; .findall(Z,r8(_,Z),L8); .print(L8); .findall(X,~r9(X),L9); .print(L9);
  .findall(X,r10(X)[lab],L10); .print(L10); if (r1(9)) { .print(bad) } else { .print(no9) }; .stopMAS.
