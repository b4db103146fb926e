!s.
+!s <- .send(b,achieve,w(1)); .send(b,achieve,w(2)); .wait(40); .send(b,unachieve,w(1)); .wait(120); .send(b,achieve,fin).
