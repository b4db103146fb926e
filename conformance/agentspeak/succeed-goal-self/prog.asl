!go.
+!go <- !a; .print(after_a); .stopMAS.
+!a <- !b; .print(no_a).
+!b <- .print(b1); .succeed_goal(a); .print(no_b).
