!go.
+!go <- !!w; .wait(30); .suspend(w); .wait(80); if (.suspended(w,_)) { .print(suspended) }; .print(resuming); .resume(w); .wait(40); if (.suspended(w,_)) { .print(bad) } else { .print(not_suspended) }; .stopMAS.
+!w <- .print(w1); .wait(60); .print(w2).
