x(2).
+x(V)[source(S)] <- .print("+",V,S).
-x(V)[source(S)] <- .print("-",V,S).
+fin <- .findall(p(V,S),x(V)[source(S)],L); .sort(L,M); .print(M); .stopMAS.
