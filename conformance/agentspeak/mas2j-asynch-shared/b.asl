+!g <- .print(g); .wait(50); .stopMAS.
