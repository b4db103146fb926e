!s.
+!s <- .wait(100); .stopMAS.
