!go.
+!go <- X = 1; (Y = X+1; .print(Y)) |&| (Y = X+2; .print(Y)); .print(X); .stopMAS.
