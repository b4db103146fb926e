!go.
+!go <- !x ||| !y; .print(end); .stopMAS.
+!x <- .print(x1); .fail.
+!y <- .print(y1); .wait(20); .print(y2).
