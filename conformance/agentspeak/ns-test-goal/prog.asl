a::p(1).
!go.
+!go <- ?a::q(X); .print(X); if (a::p(1) & not p(1)) { .print(ok) }; a::p(Y) = a::p(3); .print(Y); if (p(1) = a::p(1)) { .print(bad) } else { .print(differ) }; .stopMAS.
+?a::q(X) <- X = 5.
