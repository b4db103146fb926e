!s.
+!s <- .send(b,signal,alarm(1)); .send(b,signal,alarm(2)); .wait(40); .send(b,achieve,fin).
