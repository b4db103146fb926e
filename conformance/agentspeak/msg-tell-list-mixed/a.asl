!s.
+!s <- .send(b,tell,[x(1),5,"str",x(2),[x(3)]]); .wait(60); .send(b,achieve,fin).
