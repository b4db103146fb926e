// A query with annotations on a caller's variable, and a belief with variables.
!s.
+!s <- !t(A); !u(B); .stopMAS.
+!t(X) <- +r(f(_))[k(_), l(2)]; if (r(X)[k(a)]) { .print(one) }; for (r(Y)[k(Z)]) { .print(two) };
          for (r(Y)[l(Z)]) { .print(Z) }.
+!u(X) <- +v(g(_))[n(_)]; ?v(X)[n(a)]; .print(three).
-!u(X) <- .print(no).
