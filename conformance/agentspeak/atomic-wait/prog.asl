!a. !b.
@p[atomic] +!a <- .print(a1); .wait(40); .print(a2).
+!b <- .print(b1); .print(b2); .wait(20); .stopMAS.
