// Texts are compared with their quotes.
!go.
+!go
  <- .sort(["a","a!","a b","a#","ab","A",""], L); .print(L);
     .sort([f("a"),f("a ")], L2); .print(L2);
     if ("a" < "a!") { .print(less) } else { .print(more) };
     .set.create(S); .set.add_all(S, ["a","a!"]); .print(S); .max(["a","a!"], M); .print(M); .stopMAS.
