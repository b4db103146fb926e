+!long <- .print(begin); .wait(90); .print(finish_long).
+urgent(X) <- .print("urgent ",X).
+!fin <- .wait(50); .stopMAS.
