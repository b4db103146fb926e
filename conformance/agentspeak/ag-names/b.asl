+!who <- .my_name(N); .print(N).
