!go.
+!go <- !t; .print(end); .stopMAS.
n(3).
+!t <- while (n(X) & X > -2) { -+n(X-1); .print(X); X > 0 }; .print(no).
-!t[error(E),code(C)] <- ?n(X); .print(E," ",C," ",X).
