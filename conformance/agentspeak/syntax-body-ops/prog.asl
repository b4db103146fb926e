!go.
+!go <- +b(1); ?b(X); .print(X); -b(1); .count(b(_),N); .print(N); -+b(2); -+b(3); .findall(Y,b(Y),L); .print(L); +>b(4); +<b(5); ++b(6); .findall(Y,b(Y),M); .print(M); --b(3);
  .findall(Y,b(Y),O); .print(O); !g; !!h; Z = 3; Z > 2; Z*2 = W; .print(W); ?(b(Q) & Q > 4); .print(Q); .wait(20); .stopMAS.
+!g <- .print(g).
+!h <- .print(h).
+b(X) <- .print("+",X).
-b(X) <- .print("-",X).
