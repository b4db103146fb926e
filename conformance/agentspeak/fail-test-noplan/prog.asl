!go.
+!go <- !t1; !t2; .stopMAS.
b(1).
+!t1 <- ?b(2).
-!t1[error(E),error_msg(M)] <- .print(E," ",M).
+!t2 <- ?(b(1) & b(2)).
-!t2[error(E),error_msg(M)] <- .print(E," ",M).
