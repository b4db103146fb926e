!s.
+!s <- .send(b,askOne,v(_),R,150); .print(R); .stopMAS.
