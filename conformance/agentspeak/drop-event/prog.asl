!go.
@g[atomic] +!go <- !!w(1); !!w(2); .drop_event(w(1)); .print(dropped); !!end.
+!w(X) <- .print(w,X).
+!end <- .wait(20); .stopMAS.
