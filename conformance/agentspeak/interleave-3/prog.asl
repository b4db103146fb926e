!a. !b. !c.
+!a <- .print(a1); .print(a2); .print(a3).
+!b <- .print(b1); .print(b2); .print(b3); .print(b4).
+!c <- .print(c1); .print(c2); .wait(20); .stopMAS.
