b(1)[k]. r(X) :- b(X).
!go.
+!go <- .print(before); .verbose(1); .print(after); .current_intention(intention(I,L)); .length(L,N); .print(N); .stopMAS.
