!go.
+!go <- !t1; !t2; !t3; !t4; .stopMAS.
+!t1 <- .fail.
+!t2 <- .fail(cause(42)).
+!t3 <- .fail(error_msg("custom message"),data([1,2])).
+!t4 <- .fail(a,b(X),error_msg(text(1))).
-!t1[error(E),error_msg(M)] <- .print("1 ",E," '",M,"'").
-!t2[error(E),error_msg(M),cause(C)] <- .print("2 ",E," '",M,"' ",C).
-!t3[error(E),error_msg(M),data(D)] <- .print("3 ",E," '",M,"' ",D).
-!t4[error(E),error_msg(M),a,b(_)] <- .print("4 ",E," '",M,"'").
