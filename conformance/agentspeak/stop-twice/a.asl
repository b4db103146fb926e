!s.
+!s <- .wait(100); .stopMAS.
-!s[error(E), error_msg(M)] <- .print(E, " ", M).
