!s.
+!s <- .print(1); +b; .print(2); .print(3); .print(4); -b; .print(5); .print(6).
+b <- .print(b1); .print(b2).
-b <- .print(c1); .print(c2).
