b(1). b(2)[x]. c(X) :- b(X). d(_).
!go.
+!go <- .findall(X,.belief(b(X)),L); .print(L); if (.belief(c(_))) { .print(bad) } else { .print("rules are not beliefs") }; if (.belief(d(_))) { .print("open fact") }; .belief(b(Y)[x]); .print(Y); if (.belief(zz)) { .print(bad) } else { .print(none) }; .stopMAS.
