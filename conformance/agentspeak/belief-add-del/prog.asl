!go.
+!go <- +a(1); +a(2); +a(1); .count(a(_),N); .print(N); -a(7); .print(no_fail); -a(1); .findall(X,a(X),L); .print(L); -a(_); .findall(X,a(X),L2); .print(L2); -a(_); .print(end); .stopMAS.
+a(X) <- .print("+a ",X).
-a(X) <- .print("-a ",X).
