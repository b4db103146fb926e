!go.
+!go <- !a |&| !b; .print(both); !a ||| !c; .print(first); .wait(80); .stopMAS.
+!a <- .print(a1); .print(a2).
+!b <- .print(b1); .wait(20); .print(b2).
+!c <- .print(c1); .wait(40); .print(never).
