!a. !b.
+!a <- .wait(v(X) & X > 2); .print("got ",X); .stopMAS.
+!b <- +v(1); .print(1); +v(2); .print(2); +v(3); .print(3).
