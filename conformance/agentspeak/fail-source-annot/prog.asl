!go.
+!go <- !a[source(bob)]; !b; .stopMAS.
+!a <- .fail.
-!a[source(S)] <- .print(S).
+!b <- .fail.
-!b[source(S)] <- .print(S).
