a(1).
{ include("i.asl") }
a(2).
!go.
+!k <- .print("outer k").
+!go <- .findall(X,a(X),L); .print(L); !k; !m; .stopMAS.
