!s.
+!s <- .send(b,askOne,delayed(_),R); .print(R); .stopMAS.
