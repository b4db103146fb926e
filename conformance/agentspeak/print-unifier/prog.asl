!go.
+!go <- X = 5; .print_unifier; .stopMAS.
