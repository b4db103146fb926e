b(1)[x,y,z].
!go.
+!go <- ?b(1)[|A]; .print(A); -b(1)[x,source(zz)]; ?b(1)[|B]; .print(B); -b(1)[y,source(self)]; if (b(1)) { .print(still) } else { .print(gone) };
  +c(1)[source(bob)]; +c(1)[source(ann)]; ?c(1)[|C]; .print(C); -c(1)[source(bob)]; ?c(1)[|D]; .print(D); -c(1); ?c(1)[|E]; .print(E); -c(1)[source(ann)]; if (c(1)) { .print(still) } else { .print(gone2) }; .stopMAS.
-b(X)[|A] <- .print("-b ",X,A).
-c(X)[|A] <- .print("-c ",X,A).
+c(X)[|A] <- .print("+c ",X,A).
