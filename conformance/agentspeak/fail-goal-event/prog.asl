!go.
@g[atomic] +!go <- !!a(1); .fail_goal(a(1)); .print(g); !!end.
+!a(X) <- .print(no).
-!a(X) <- .print("failed ",X).
+!end <- .wait(20); .stopMAS.
