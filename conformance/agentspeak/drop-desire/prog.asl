!go.
+!go <- !!w(1); .wait(20); .drop_desire(w(1)); if (.desire(w(1))) { .print(bad) } else { .print(ok) }; .drop_desire(zzz); .wait(80); .print(end); .stopMAS.
+!w(X) <- .wait(50); .print("should not ",X).
