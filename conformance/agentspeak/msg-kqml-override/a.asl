!s.
+!s <- .send(b,tell,good(1)); .send(b,tell,bad(2)); .send(b,achieve,job(3)); .send(b,tell,good(4)); .wait(50); .send(b,achieve,fin).
