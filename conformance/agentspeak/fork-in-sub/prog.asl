!go. !other.
+!go <- !p; .print(after); .wait(20); .stopMAS.
+!p <- !a |&| !b.
+!a <- .print(a1); .print(a2).
+!b <- .print(b1); .print(b2).
+!other <- .print(o1); .print(o2); .print(o3); .print(o4).
