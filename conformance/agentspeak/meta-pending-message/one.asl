!s.
+!s <- .wait(50); .send(two, achieve, g(1)); .wait(100); .stopMAS.
