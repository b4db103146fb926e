!go. !a.
+!a <- .print(a1); !nope(1); .print(no).
+!go <- .wait(200); .print(alive); .stopMAS.
