!go.
+!go <- !x |&| !y; .print(end); .stopMAS.
+!x <- .print(x1); .fail.
-!x <- .print(x_handled).
+!y <- .print(y1); .print(y2).
