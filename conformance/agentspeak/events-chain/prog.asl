!go.
+!go <- +start(3); .print(go_end); .wait(20); .stopMAS.
+start(0) <- .print(zero).
+start(N) <- .print("start ",N); -start(N); +start(N-1); .print("back ",N).
-start(N) <- .print("minus ",N).
