!go.
+!go <- !a(1); !b; .stopMAS.
+!a(X)[k] <- .print(x).
+!a(X) <- .fail(why(X),error_msg("broken")).
-!a(X)[|L] <- .print(X," ",L).
+!b <- !c.
-!b[error(no_relevant)|L] <- .print(L).
