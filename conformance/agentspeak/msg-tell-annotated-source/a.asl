!s.
+!s <- .send(b,tell,x(1)[source(zed),k]); .send(b,achieve,g(2)[prio(5)]); .wait(30); .send(b,tell,fin).
