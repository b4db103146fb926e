!go.
+!go <- !!w(a); !!w(b); .wait(20); +ev; .wait(40); .stopMAS.
+!w(X) <- .wait({+ev}); .print(X).
