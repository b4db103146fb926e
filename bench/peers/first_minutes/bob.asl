+hello[source(Who)] <- .print("hello from ", Who); .send(Who, tell, thanks).
