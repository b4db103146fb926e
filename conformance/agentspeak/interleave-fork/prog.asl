!a. !b.
+!a <- .print(a1); (.print(x1); .print(x2)) |&| (.print(y1); .print(y2)); .print(a2).
+!b <- .print(b1); .print(b2); .print(b3); .print(b4); .print(b5); .print(b6); .wait(20); .stopMAS.
