!i.
+!i <- .my_name(N); .print(N).
