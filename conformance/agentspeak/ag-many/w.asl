!s.
+!s <- .wait(20); .send(m,tell,hi).
