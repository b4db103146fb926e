p(1,2). p(3,4).
!go.
+!go <- ?p(_,Y); .print(Y); ?p(_A,3+1); .print(_A); _B1 = 5; .print(_B1); X_y = 6; .print(X_y); Xx1 = f(X_y); .print(Xx1);
  ?p(_,_); .print(ok); .findall(Q,p(_,Q),L); .print(L); .stopMAS.
