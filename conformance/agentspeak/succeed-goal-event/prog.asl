!go.
@g[atomic] +!go <- !!a; .succeed_goal(a); .print(s); !!end.
+!a <- .print(no).
+!end <- .wait(20); .print(end); .stopMAS.
