!a. !b.
+!a <- .print(a1); !f; .print(a2); .print(a3).
+!f <- .print(f1); .fail.
-!f <- .print(h1); .print(h2).
+!b <- .print(b1); .print(b2); .print(b3); .print(b4); .print(b5); .print(b6); .print(b7); .wait(20); .stopMAS.
