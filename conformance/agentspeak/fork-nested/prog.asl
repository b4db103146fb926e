!go.
+!go <- (!a |&| !b) ||| !c; .print(end); .wait(30); .stopMAS.
+!a <- .print(a).
+!b <- .print(b).
+!c <- .wait(300); .print(never).
