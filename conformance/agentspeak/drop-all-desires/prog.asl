!go.
@g[atomic] +!go <- !!w(1); !!w(2); .drop_all_desires; .print(dropped); !!end.
+!w(X) <- .print(w,X).
+!end <- .wait(20); .stopMAS.
