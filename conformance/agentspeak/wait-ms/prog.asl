!a. !b.
+!a <- .wait(60); .print(a).
+!b <- .wait(20); .print(b); .wait(80); .print(c); .stopMAS.
