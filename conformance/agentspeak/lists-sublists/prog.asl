!go.
+!go <- .findall(S,.sublist(S,[1,2,3]),L); .print(L); if (.sublist([2,3],[1,2,3])) { .print(yes) }; if (.sublist([1,3],[1,2,3])) { .print(bad) } else { .print(no) }; .findall(P,.prefix(P,[a,b,c]),M); .print(M); .findall(P,.suffix(P,[a,b,c]),N); .print(N);
  .findall(X,.sublist([X,_],[a,b,c]),O); .print(O); .prefix([A,B],[p,q,r]); .print(A,B); .stopMAS.
