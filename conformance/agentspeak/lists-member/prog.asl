!go.
+!go <- .findall(X,.member(X,[a,b,c]),L); .print(L); if (.member(b,[a,b])) { .print(yes) }; if (not .member(z,[a,b])) { .print(no) }; .member(f(Y,2),[f(1,1),f(3,2)]); .print(Y); .findall(A-B,.member(A,[1,2]) & .member(B,[3,4]),L2); .print(L2);
  for (.member(Z,[p,q])) { .print(Z) }; .member(W,[only]); .print(W); if (.member(_,[])) { .print(bad) } else { .print(empty) }; .stopMAS.
