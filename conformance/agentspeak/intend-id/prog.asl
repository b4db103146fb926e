!go.
+!go <- !!w(1); !!w(2); .wait(20); .findall(I,.intend(w(_),I),L); .sort(L,[A,B]); if (A < B) { .print(ordered) }; .intend(w(X),A); .print(X); .desire(w(Y),B); .print(Y); .intention(C,_,_,current); if (C < A) { .print(first) }; .stopMAS.
+!w(X) <- .wait(500).
