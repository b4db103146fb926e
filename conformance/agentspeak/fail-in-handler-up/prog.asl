!go.
+!go <- !a; .print(no); .stopMAS.
-!go[error(E),code(C)] <- .print("go handler ",E," ",C); .stopMAS.
+!a <- .fail.
-!a <- .print("a handler"); ?missing; .print(no).
