!go.
+!go <- N = 3; !g(N+1)[w(N*2),k(f(N))]; +b(N-1)[t(N)]; ?b(X)[t(Y)]; .print(X,Y); .stopMAS.
+!g(A)[w(W),k(F)] <- .print(A," ",W," ",F).
