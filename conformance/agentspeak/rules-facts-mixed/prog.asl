p(1). 
p(X) :- q(X).
p(2).
q(10). q(20).
!go.
+!go <- .findall(X,p(X),L); .print(L); +p(3); .findall(X,p(X),L2); .print(L2); -p(2); .findall(X,p(X),L3); .print(L3); .count(p(_),N); .print(N); .stopMAS.
