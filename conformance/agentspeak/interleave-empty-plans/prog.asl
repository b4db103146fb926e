!a. !b.
+!a <- !e; .print(a1); !e; .print(a2); !e; .print(a3).
+!b <- .print(b1); .print(b2); .print(b3); .print(b4); .print(b5); .print(b6); .print(b7); .wait(20); .stopMAS.
+!e.
