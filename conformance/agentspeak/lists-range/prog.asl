!go.
+!go <- .findall(X,.range(X,1,5),L); .print(L); .findall(X,.range(X,0,10,3),M); .print(M); .findall(X,.range(X,3,-3,-2),N); .print(N); .findall(X,.range(X,5,1),O); .print(O); if (.range(3,1,5)) { .print(in) }; if (not .range(9,1,5)) { .print(out) };
  for (.range(I,1,2) & .range(J,I,2)) { .print(I,J) }; .findall(X,.range(X,1,6) & X mod 2 == 0,P); .print(P); .stopMAS.
