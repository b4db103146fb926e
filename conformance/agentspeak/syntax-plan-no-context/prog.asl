!a.
+!a.
+!b : true.
+!c : true <- true.
+!d <- true; .print(d).
+!e : true <- .print(e).
+e1 <- .print(e1).
-e1.
!go.
+!go <- !a; !b; !c; !d; !e; +e1; -e1; .print(done); .stopMAS.
