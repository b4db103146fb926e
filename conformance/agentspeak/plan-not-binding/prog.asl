p(1). p(2). q(2).
!go.
+!go : p(X) & not q(X) <- .print(X); if (not r(Y)) { .print("Y free") }; if (not (p(Z) & q(Z))) { .print(bad) } else { .print("both") }; if (not not_a_belief) { .print(ok) }; !t.
+!t : not p(5) & p(X) & X > 1 & (q(X) | r(X)) <- .print(X); .stopMAS.
