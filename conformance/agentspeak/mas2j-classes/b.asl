+fin <- .print(b); .stopMAS.
