!go.
+!go <- +r(0); (+a(1); +a(2)) |&| (+b(1); +b(2)); .findall(X,a(X),L); .findall(X,b(X),M); .print(L,M); .stopMAS.
+a(X) <- .print(a,X).
+b(X) <- .print(b,X).
