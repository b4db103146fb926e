!go.
+!go <- +x(1); .print(1); -x(1); .print(2); -+x(5); .print(3); +y[a]; .print(4); .stopMAS.
+x(9) <- .print(never).
