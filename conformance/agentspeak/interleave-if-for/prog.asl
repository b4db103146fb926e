k(1). k(2).
!a. !b.
+!a <- if (k(1)) { .print(if1); .print(if2) }; for (k(X)) { .print(loop,X) }; .print(a_end).
+!b <- .print(b1); .print(b2); .print(b3); .print(b4); .print(b5); .print(b6); .print(b7); .print(b8); .print(b9); .wait(20); .stopMAS.
