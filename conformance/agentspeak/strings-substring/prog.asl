!go.
+!go <- if (.substring("lo","hello")) { .print(1) }; if (not .substring("xx","hello")) { .print(2) }; .substring("l","hello",P); .print(P); .findall(Q,.substring("l","hello",Q),L); .print(L);
  .findall(f(S,E),.substring("ab","abcab",S,E),L2); .print(L2); .substring(R,"abcdef",2); .print(R); .substring(T,"abcdef",1,3); .print(T); .substring(U,foo(bar,1),4,7); .print(U);
  if (.substring("h","hello",0)) { .print(3) }; if (.substring(bar,foo(bar))) { .print(4) }; .substring(V,"abc",3); .print("'",V,"'"); .stopMAS.
