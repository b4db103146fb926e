+?data(K,V) <- .print("miss ",K); .send(server,askOne,data(K,_),data(_,V)); +data(K,V)[source(self)].
