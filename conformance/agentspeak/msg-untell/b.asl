x(3).
-x(V)[source(S)] <- .print("gone ",V," ",S).
+!report <- .findall(X,x(X),L); .print(L); .stopMAS.
