!s.
+!s <- ++x(1); .wait(20); .print(ok); .stopMAS.
