!go. !a. !b. !c.
+!a <- .print(a1); .nth(3,[x],V); .print(no).
+!b <- .print(b1); .fail(error_msg("told you"),k(1)); .print(no).
+!c <- .print(c1); V; .print(no).
+!go <- .wait(200); .print(alive); .stopMAS.
