!go.
+!go <- !!a; .wait(20); .drop_desire(c); .wait(60); if (.desire(a)) { .print(bad) } else { .print(dropped) }; .stopMAS.
+!a <- !b; .print(no).
+!b <- !c; .print(no).
+!c <- .wait(40); .print(no).
