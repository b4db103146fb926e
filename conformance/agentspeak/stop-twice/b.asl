!s.
+!s <- .wait(100); .stopMAS; .stopMAS.
-!s[error(E)] <- .print(E).
