+!g <- .print(g); .wait(30); .stopMAS.
