!a. !b.
+!a <- +x(1); .print(a1); +x(2); .print(a2).
+!b <- .print(b1); .print(b2); .print(b3); .print(b4); .print(b5); .print(b6); .wait(20); .stopMAS.
+x(1) <- .print(x1).
