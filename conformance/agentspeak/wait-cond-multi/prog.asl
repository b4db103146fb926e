!go.
+!go <- !!p; .wait(a(X) & b(Y) & X < Y); .print(X,Y); .stopMAS.
+!p <- +a(5); .wait(10); +b(3); .wait(10); +b(9).
