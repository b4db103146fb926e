n(0).
@h[atomic] +hi[source(W)] : n(N) <- -+n(N+1); if (N+1 == 15) { .print("all here"); !!end }.
+!end <- .wait(30); .stopMAS.
