!s.
+!s <- .print(1); .send(b,achieve,g); .print(2).
