bird(tweety). bird(pingu). penguin(pingu). ~flies(X) :- penguin(X).
flies(X) :- bird(X) & not ~flies(X).
single(X) :- person(X) & not married(X,_).
person(a). person(b). married(a,c).
!go.
+!go <- .findall(X,flies(X),L); .print(L); .findall(X,~flies(X),L2); .print(L2); .findall(X,single(X),L3); .print(L3); if (not flies(rock)) { .print(rock) }; .stopMAS.
