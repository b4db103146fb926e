!s.
+!s <- .send(b,strange,foo(1)); .wait(40); .send(b,tell,ok).
