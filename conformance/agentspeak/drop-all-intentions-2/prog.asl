!go.
+!go <- !!w(1); !!w(2); .wait(20); .drop_all_intentions; .print(continues); .wait(80); .print(end); .stopMAS.
+!w(X) <- .wait(50); .print(no,X).
