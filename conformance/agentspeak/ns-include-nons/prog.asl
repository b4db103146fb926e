{ include("m.asl") }
!go.
p(main).
+!go <- .findall(X,p(X),L); .print(L); !hello(x); .stopMAS.
