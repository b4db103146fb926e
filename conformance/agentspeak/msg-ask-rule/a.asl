!s.
+!s <- .send(b,askOne,big(_),R); .print(R); .send(b,askAll,big(_),L); .print(L); .stopMAS.
