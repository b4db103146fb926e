b(1)[x,y(2)]. b(2)[x]. b(3)[y(5),z(6)].
!go.
+!go <- .findall(X,b(X)[x],L1); .print(L1); .findall(f(X,Y),b(X)[y(Y)],L2); .print(L2); .findall(X,b(X)[source(self)],L3); .print(L3);
  .findall(X,b(X)[source(other)],L4); .print(L4); ?b(3)[z(Z),y(W)]; .print(Z,W); ?b(1)[|A]; .print(A); ?b(1)[x|R]; .print(R);
  .findall(A1,b(3)[A1],L5); .print(L5); .findall(p(A1,A2),b(3)[A1,A2],L6); .print(L6); if (b(2)[nope]) { .print(bad) } else { .print(nope) }; .stopMAS.
