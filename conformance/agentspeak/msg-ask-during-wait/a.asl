!s.
+!s <- .wait(20); .send(b,askOne,state(_),state(X)); .print(X); .wait(80); .send(b,askOne,state(_),state(Y)); .print(Y); .stopMAS.
