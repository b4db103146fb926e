!s.
+!s <- .send(c,askOne,salary(_),R); .print(R); .send(c,tell,go).
