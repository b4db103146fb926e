!g(X). !h(_,f(Y),Y).
+!g(A) <- A = 3; .print(A).
+!h(A,f(B),C) <- B = 1; .print(B,C); .wait(10); .stopMAS.
