+x <- .print(b); .stopMAS.
