!s.
+!s <- .send(b,tell,x(1)); .send(b,tell,x(2)); .send(b,tell,[y(1),y(2)]); .send(b,tell,~z); .send(b,tell,x(1)); .send(b,tell,stop).
