!go.
+!go <- !a; !b; !c; .stopMAS.
+!a <- .wait({+never},30); .print(no).
-!a[error(E),error_msg(M)] <- .print(E," ",M).
+!b <- .wait(never(X) & X > 2,30).
-!b[error(E)] <- .print(E).
+!c <- .wait({+never},40,T); if (T >= 40 & T < 2000) { .print(elapsed) }.
