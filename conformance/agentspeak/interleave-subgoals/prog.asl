!a. !b.
+!a <- .print(a1); !s(a); .print(a2).
+!b <- .print(b1); !s(b); .print(b2); .wait(20); .stopMAS.
+!s(X) <- .print(s,X,1); .print(s,X,2).
