!s.
+!s <- .send(b,askOne,secret(_),R); .print(R); .send(b,askOne,public(_),R2); .print(R2); .stopMAS.
