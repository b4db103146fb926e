+!go(N) <- .findall(X,k(X),L); .print(L," ",N); if (~n) { .print(neg) }.
+fin <- .stopMAS.
