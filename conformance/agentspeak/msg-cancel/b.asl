+!w(X) <- .wait(80); .print("done ",X).
+!fin <- .stopMAS.
