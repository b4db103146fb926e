// What the trigger and the context had bound is part of the goal that failed; what the body bound is not.
b(1).
!start.
+!start
  <- !g(X); .print("after g");
     !h(A, B); .print("after h ", B);
     !k(C, D); .print("after k ", D);
     !m(Q); .print("after m");
     .stopMAS.

+!g(Y) : b(Y) <- .fail.
-!g(Z) <- .print("failed ", Z).

+!h(C, D) : b(C) <- D = 5; .fail.
-!h(E, F) : not .ground(F) <- .print("failed ", E); F = 6.

+!k(7, D) <- D = 5; .fail.
-!k(E, F) : not .ground(F) <- .print("failed ", E); F = 3.

+!m(Q) <- !n(Q); .print("never").
+!n(Q) : b(V) & Q = f(V, W) <- W = 3; .fail.
-!m(Q) : not .ground(Q) <- .print("failed m").
