!s.
+!s <- .send(b,askOne,slow(_),R,60); .print(R); .send(b,askOne,fast(_),R2,1000); .print(R2); .stopMAS.
