p(1). p(2). p(3).
!go.
+!go <- -p(X); .print(X); -p(Y); .print(Y); +p(9); -p(Z); .print(Z); .findall(A,p(A),L); .print(L); .stopMAS.
