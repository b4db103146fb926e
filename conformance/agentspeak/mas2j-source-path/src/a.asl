!s.
+!s <- .print(a_found); .send(b,tell,hi).
