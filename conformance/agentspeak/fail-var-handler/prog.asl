!go.
+!go <- !a(1); !b; .stopMAS.
+!a(X) <- .fail.
+!b <- !undefined_goal(2).
-!G[error(E)] <- .print("generic handler ",G," ",E).
