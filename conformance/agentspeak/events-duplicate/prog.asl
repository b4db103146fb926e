!go.
+!go <- +x(1); +x(1); -x(1); -x(1); +x(1); ++x(1); --x(2); .print(end); .wait(10); .stopMAS.
+x(N) <- .print("+x",N).
-x(N) <- .print("-x",N).
