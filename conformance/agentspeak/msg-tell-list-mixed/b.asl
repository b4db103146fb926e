+x(N) <- .print(N).
+!fin <- .count(x(_),N); .print(N," beliefs"); .stopMAS.
