!go. !a.
+!a <- !b; .print(no).
+!b <- .fail.
-!b <- .print(handler); X = 1; X > 2; .print(no).
+!go <- .wait(200); .print(alive); .stopMAS.
