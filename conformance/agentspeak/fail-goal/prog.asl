!go.
+!go <- !!a; .wait(30); .fail_goal(b); .wait(60); .print(end); .stopMAS.
+!a <- .print(a1); !b; .print(a2).
+!b <- .print(b1); !c; .print(no).
+!c <- .print(c1); .wait(500); .print(no).
-!b <- .print(b_failed).
