!go.
+!go <-
  .print(start);
  !a;
  .stopMAS.
+!a <-
  .print(in_a);
  !b;
  .print(no).
+!b
  <- X = 1;
     Y = 2;
     X == Y.
-!a[code(C),code_line(L),error(E)]
  <- .print(C," at ",L," ",E).
