{ namespace(n1) }
p(1).
{ namespace(n2,global) }
q(2).
!go.
+!go <- if (p(1) & q(2)) { .print(default) }; if (n1::p(_) | n2::q(_)) { .print(bad) } else { .print(none) }; .stopMAS.
