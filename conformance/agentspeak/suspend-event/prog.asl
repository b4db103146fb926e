!go.
@g[atomic] +!go <- !!w(1); .suspend(w(1)); !!next.
+!next <- .wait(30); .print(resume); if (.desire(w(1))) { .print(desired) }; .resume(w(1)); .wait(30); .stopMAS.
+!w(X) <- .print(w,X).
