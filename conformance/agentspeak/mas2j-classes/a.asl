!s.
+!s <- .wait(20); .print(a); .send(b,tell,fin).
