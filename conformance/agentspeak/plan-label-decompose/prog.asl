@lab[cost(5)] +!g(X) : b(X) <- a1; a2(X).
!go.
+!go <- .plan_label(P,lab); P =.. [L,T,C,B]; L =.. [_,LF|_]; .print(LF); .print(T); .print(C); .print(B); ?lab_cost(L,K); .print(K); .stopMAS.
lab_cost(L,C) :- L = _[cost(C)].
lab_cost(_,nocost).
