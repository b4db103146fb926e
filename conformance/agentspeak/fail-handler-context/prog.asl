mode(2).
!go.
+!go <- !a; !b(1); !b(2); .print(end); .stopMAS.
+!a <- .fail.
-!a : mode(1) <- .print(mode1).
-!a : mode(2) <- .print(mode2).
+!b(X) <- .fail.
-!b(1) <- .print(one).
-!b(X) <- .print(other,X).
