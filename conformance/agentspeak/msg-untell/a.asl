!s.
+!s <- .send(b,tell,x(1)); .send(b,tell,x(2)); .send(b,untell,x(1)); .send(b,untell,x(9)); .send(b,untell,x(3)); .wait(40); .send(b,achieve,report).
