!go.
+!go <- !!w; .wait(40); .print(resuming); .resume(w); .wait(40); .stopMAS.
+!w <- .print(w1); .suspend; .print(w2).
