!go.
@g[atomic] +!go <- !!a(1); ++b(1); !!a(2); ++b(2); .signal({+s(1)}); !!a(3).
+!a(X) <- .print(a,X); .print(aa,X); X == 3; .wait(30); .stopMAS.
-!a(X).
+b(X) <- .print(b,X).
+s(X) <- .print(s,X).
