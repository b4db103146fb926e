!s.
+!s <- .send(b,mytell,k(1)); .send(b,achieve,go(2)); .send(b,tell,s(3)).
