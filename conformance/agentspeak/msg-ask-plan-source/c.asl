+?salary(X)[source(a)] <- X = 1000.
+?salary(X)[source(S)] <- .print("refused ",S); ?not_known(X).
+go <- .send(b,tell,start).
