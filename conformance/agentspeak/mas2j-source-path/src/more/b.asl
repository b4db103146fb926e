+hi <- .print(b_found); .stopMAS.
