!go. !bad.
+!bad <- .print(bad1); .fail; .print(no).
+!go <- .print(go1); .print(go2); .wait(20); .print(alive); .stopMAS.
