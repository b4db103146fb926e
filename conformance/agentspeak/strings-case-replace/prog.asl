!go.
+!go <- .upper_case("Hello World 1",A); .lower_case("Hello World 1",B); .print(A,"|",B); .upper_case(atom(x),C); .print(C); .lower_case("ÀÉ",D); .print(D);
  .replace("one two one","one","1",E); .print(E); .replace("a1b22c","[0-9]+","#",F); .print(F); .replace(foo(a,b),",",";",G); .print(G); .replace("abc","(b)","<$1>",H); .print(H); .replace("a.b.c","\\.","-",I); .print(I); .stopMAS.
