!go.
+!go <- !a(1)[prio(3),k]; .stopMAS.
+!a(X) <- !b(X).
+!b(X)[source(S)] <- .fail.
-!a(X)[prio(P),k,error(E)] <- .print(X," ",P," ",E).
