!go.
+!go <- !p; .print(end); .wait(50); .stopMAS.
+!p <- (.print(a1); .print(a2); .fail) |&| (.print(b1); .print(b2); .wait(20); .print(no)); .print(no2).
-!p[error(E)] <- .print("handler ",E).
