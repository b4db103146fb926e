!s.
+!s <- .send(b,achieve,job(1)); .send(b,achieve,job(2)); .send(b,achieve,[job(3),job(4)]); .wait(50); .send(b,achieve,fin).
