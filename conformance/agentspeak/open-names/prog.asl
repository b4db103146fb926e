// An unbound variable is printed under the name that the plan at work has for it.
!start.
+!start <- !g(Z); .print("start ", Z); !h(A, f(B)); .print("start ", A); !k(C); .stopMAS.
+!g(X) <- .print("g ", X); !inner(X); .print("g ", X).
+!inner(Y) <- .print("inner ", Y).
+!h(P, Q) <- .print("h ", P).
+!k(V) <- .fail.
-!k(W) <- .print("failed ", W).
