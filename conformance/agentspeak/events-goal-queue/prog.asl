!go.
+!go <- !!a; !!b; !c; .print(go); .wait(20); .stopMAS.
+!a <- .print(a1); .print(a2); .print(a3).
+!b <- .print(b1); .print(b2).
+!c <- .print(c1).
