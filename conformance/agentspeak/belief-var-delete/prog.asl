// A belief's variables are its own; what a handler binds is the deleter's.
likes(X, beer). likes(bob, Y).
!s.
+!s <- A = 11; +b(_); -b(_); .print("b is gone");
       -likes(C, D); .print(D); .findall(p(V), likes(bob, V), L); .length(L, N); .print(N);
       -likes(E, nine); .print(E); .findall(p(V), likes(bob, V), L2); .print(L2);
       +c(_, W); -c(F, G); .print(G); +d(k, _); -d(H, 4); .print(H); .print(A); .stopMAS.
-b(R) <- R = free; .print("del b ", R).
-likes(P, Q) <- .print("del likes ", Q).
-c(R, S) <- S = 56; .print("del c ", S).
-d(R, S) <- .print("del d ", R, " ", S).
