!go.
+!go <- !t(1); !t(2); !t(3); .stopMAS.
p(1). q(1). q(2).
+!t(X) <- ?(p(X) & q(X)); .print(both,X).
-!t(X)[error(E),error_msg(M)] : q(X) <- .print(X," ",E," ",M).
-!t(X)[error(E)] <- .print(X," ",E," nothing").
