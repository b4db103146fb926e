+start <- .send(c,askOne,salary(_),R); .print(R); .stopMAS.
