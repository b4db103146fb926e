!s.
+!s <- .send(b,achieve,work(1)); .wait(50); .send(b,unachieve,work(_)); .wait(100); .send(b,achieve,report).
