k(1). k(2). k(3)[source(x)]. j(1).
!go.
+!go <- .abolish(k(2)); .findall(X,k(X),L); .print(L); .abolish(k(_)); .findall(X,k(X),L2); .print(L2); .count(j(_),N); .print(N); .abolish(zz(_)); .wait(20); .stopMAS.
-k(X) <- .print("-k",X).
