v(1). v(2). v(3).
!go.
+!go <- -+v(9); .findall(X,v(X),L); .print(L); -+v(10); .findall(X,v(X),L2); .print(L2); -+w(1,2); -+w(3,4); .findall(w(X,Y),w(X,Y),L3); .print(L3); .wait(10); .stopMAS.
+v(X) <- .print("+v",X).
-v(X) <- .print("-v",X).
+w(X,Y) <- .print("+w",X,Y).
-w(X,Y) <- .print("-w",X,Y).
