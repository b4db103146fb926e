!go.
+!go <- !!w(1); !!w(2); !!w(3); .wait(20); .suspend(w(2)); .wait(60); .print(mid); .resume(w(2)); .wait(40); .stopMAS.
+!w(X) <- .wait(40); .print(w,X).
