!go.
+!go <- !!a; .wait(30); !!nope; .wait(30); .print(end); .stopMAS.
+!a <- .fail.
-!a[error(E)] <- .print("handled ",E).
-!nope[error(E)] <- .print("handled ",E).
