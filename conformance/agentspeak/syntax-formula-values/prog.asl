p(1). p(2).
holds(F) :- F.
all(F,G) :- not (F & not G).
!go.
+!go <- if (holds(p(1))) { .print(1) }; if (holds(p(9))) { .print(bad) } else { .print(2) }; if (holds(p(X) & X > 1)) { .print(3) }; if (all(p(Y),Y < 5)) { .print(4) }; if (all(p(Y),Y < 2)) { .print(bad) } else { .print(5) }; F = p(Z); if (F) { .print(Z) }; ?F; .print(F); .stopMAS.
