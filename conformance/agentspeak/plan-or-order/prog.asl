a(1). a(2). b(3).
!go.
+!go : a(X) & X > 5 | b(X) <- .print(X); .findall(Y,a(Y) | b(Y),L); .print(L); .findall(Y,(a(Y) | b(Y)) & Y > 1,M); .print(M); !u.
+!u : b(X) | a(X) <- .print(X); .stopMAS.
