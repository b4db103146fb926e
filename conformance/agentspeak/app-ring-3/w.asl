next(w1,w2). next(w2,w3). next(w3,w4). next(w4,w5). next(w5,w1).
!init.
+!init : .my_name(w1) <- .wait(50); .send(w2,achieve,token(12)).
+!init.
+!token(0) <- .print("token died here"); .wait(30); .stopMAS.
+!token(N) : .my_name(Me) & next(Me,X) <- .print(N); .send(X,achieve,token(N-1)).
