att(0).
!go.
+!go <- !connect; .print(connected); .stopMAS.
+!connect <- ?att(N); -+att(N+1); .print("attempt ",N+1); N >= 2; .print(success).
-!connect[error(constraint_failed)] : att(N) & N < 5 <- .wait(5); !connect.
-!connect <- .print("gave up").
