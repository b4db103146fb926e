p(1). p(2).
!go.
+!go <- .eval(A,p(1)); .print(A); .eval(B,p(9) | 1 > 2); .print(B); .eval(C,p(X) & X > 1); .print(C," ",X); .eval(true,p(2)); if (.eval(true,p(7))) { .print(bad) } else { .print(no) }; .eval(D,not p(3)); .print(D); .stopMAS.
