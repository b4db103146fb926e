!go.
+!go <- !!a; .wait(30); .suspend(b); .wait(80); .print(resume); .resume(b); .wait(60); .stopMAS.
+!a <- !b; .print(a_end).
+!b <- .print(b1); .wait(50); .print(b2).
