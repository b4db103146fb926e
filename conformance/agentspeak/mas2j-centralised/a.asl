!s.
+!s <- .print(a); .send(b,tell,x).
