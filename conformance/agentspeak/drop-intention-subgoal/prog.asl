!go.
+!go <- !!top; .wait(20); .drop_intention(sub); if (.intend(top)) { .print(bad) } else { .print(whole_dropped) }; .wait(80); .stopMAS.
+!top <- !sub; .print(no_top).
+!sub <- .wait(50); .print(no_sub).
