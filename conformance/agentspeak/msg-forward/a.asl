!s.
+!s <- .send(b,achieve,relay(c,note("hi",[1]))).
