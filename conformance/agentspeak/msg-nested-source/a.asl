!s.
+!s <- .send(b,tell,news(1)).
