done.
!go.
+!go <- .print(start); !a; .print(end); .stopMAS.
+!a <: done <- .wait(500); .print(never).
