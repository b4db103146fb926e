!s.
+!s <- .send(b,askOne,fact(_),R); .print(R); R = _[|L]; .print(L); .send(b,askOne,told(_),R2); .print(R2); .stopMAS.
