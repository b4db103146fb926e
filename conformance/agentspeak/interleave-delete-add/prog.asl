v(0).
!a. !b.
+!a <- .print(a1); -+v(1); .print(a2); -+v(2); .print(a3).
+v(X) <- .print(plus,X).
-v(X) <- .print(minus,X).
+!b <- .print(b1); .print(b2); .print(b3); .print(b4); .print(b5); .print(b6); .print(b7); .print(b8); .print(b9); .print(b10); .wait(20); .stopMAS.
