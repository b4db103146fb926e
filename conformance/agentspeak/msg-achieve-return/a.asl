!s.
+!s <- .send(b,achieve,sum(3,4,R)); .wait(40); .print(R).
+result(X)[source(b)] <- .print("result ",X); .stopMAS.
