!go.
+!go <- for (.range(I,1,3)) { .wait(10); .print(I) }; -+n(0); while (n(X) & X < 3) { .wait(5); -+n(X+1) }; .print(end); .stopMAS.
