!s.
+!s <- !t; .stopMAS.
+!t <- .send(b,askOne,v(_),v(2)); .print(no).
-!t[error(E)] <- .print(E).
