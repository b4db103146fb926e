!s.
+!s <- .send(c,tell,x(1)); .send(b,tell,go).
