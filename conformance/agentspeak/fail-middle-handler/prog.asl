!go.
+!go <- !l1; .print("after l1"); .stopMAS.
+!l1 <- !l2; .print("l1 continues").
+!l2 <- !l3; .print("not printed").
+!l3 <- .fail.
-!l2 <- .print("l2 handler").
-!l1 <- .print("l1 handler not used").
