b(1). b(2). b(3).
!go.
+!go <- .asserta({big(X) :- b(X) & X > 1}); .findall(X,big(X),L); .print(L); .assertz({big(X) :- X = 100}); .findall(X,big(X),L2); .print(L2); .relevant_rules(big(_),R); .length(R,N); .print(N); R = [F|_]; .print(F); .stopMAS.
