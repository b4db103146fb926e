!go.
+!go <- !!a(1); !!a(2); .wait(30); .fail_goal(b(2)); .wait(40); .print(mid); .succeed_goal(b(_)); .wait(30); .stopMAS.
+!a(X) <- !b(X); .print(a,X).
+!b(X) <- .wait(1000); .print(no).
-!b(X) <- .print("failed ",X).
