!go.
+!go <- !!w; .wait(30); .suspend(w); .wait(30); .resume(w); .wait(120); .stopMAS.
+!w <- .wait(100); .print(done).
^!w[state(S)] : S == suspended | S == resumed | S == finished <- .print(S).
