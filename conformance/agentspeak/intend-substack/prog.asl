!go.
+!go <- !a; .stopMAS.
+!a <- !b.
+!b : .intend(a) & .intend(go) & .intend(b) <- .print(ctx_all).
+!b : .intend(a) & .intend(go) & not .intend(b) <- .print(ctx_ab); .findall(G,.intend(G),L); .length(L,N); .print(N); L = [F|_]; .print(F).
