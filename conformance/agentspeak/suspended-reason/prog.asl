!go.
+!go <- !!w1; !!w2; .wait(30); .suspended(w1,R); R =.. [F,_,_]; .print(F); .suspended(w2,Q); .print(Q); if (.suspended(go,Z)) { .print(bad) } else { .print(running) }; .stopMAS.
+!w1 <- .wait(500).
+!w2 <- .suspend.
