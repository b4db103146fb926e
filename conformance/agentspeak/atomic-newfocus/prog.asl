!a.
@p[atomic] +!a <- .print(a1); !!b; .print(a2); ++d(1); .print(a3); .print(a4).
+!b <- .print(b1); .wait(20); .stopMAS.
+d(X) <- .print(d,X).
