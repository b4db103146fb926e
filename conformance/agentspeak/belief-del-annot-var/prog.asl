b(1)[source(bob),source(ann)]. c(2)[source(zed)].
!go.
+!go <- .findall(S,b(1)[source(S)],L); .print(L); -b(1)[source(X)]; .findall(S,b(1)[source(S)],L2); .print(L2); -c(Y)[source(zed)]; .print(Y); if (c(_)) { .print(bad) } else { .print(gone) }; .stopMAS.
