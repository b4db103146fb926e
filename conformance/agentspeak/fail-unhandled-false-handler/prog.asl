!go. !a.
+!a <- !b; .print(no).
-!a <- .print(no).
+!b <- .fail.
-!b : false <- .print(no).
+!go <- .wait(200); .print(alive); .stopMAS.
