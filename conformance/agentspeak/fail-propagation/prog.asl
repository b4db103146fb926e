!go.
+!go <- !l1; .print("after l1"); .stopMAS.
+!l1 <- .print(l1); !l2; .print("not printed l1").
+!l2 <- .print(l2); !l3; .print("not printed l2").
+!l3 <- .print(l3); .fail; .print("not printed l3").
-!l1[error(E),code(C)] <- .print("recovered ",E," ",C).
