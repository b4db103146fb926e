!go.
+!go <- !a; .print(end); .stopMAS.
-!go[error(E)] <- .print("go handler ",E); .stopMAS.
+!a <- !b; .print(no).
-!a <- .print("a handler"); !c; .print("a handler end").
+!b <- .fail.
+!c <- .fail.
-!c <- .print("c handler").
