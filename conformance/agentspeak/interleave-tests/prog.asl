k(1).
!a. !b.
+!a <- ?k(X); .print(a,X); ?m(Y); .print(a,Y); X < Y; .print(a_end).
+!b <- .print(b1); .print(b2); .print(b3); .print(b4); .print(b5); .print(b6); .wait(20); .stopMAS.
+?m(2) <- .print(m).
