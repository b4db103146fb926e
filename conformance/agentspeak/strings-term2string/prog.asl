!go.
+!go <- .term2string(f(X,[1,"s"],~b[c]),S); .print(S); if (.string(S)) { .print(string) }; .term2string(T,"g(1,[a,b],\"q\")"); .print(T); T = g(A,B,C); .print(A,B,C); .term2string(N,"3.5"); .print(N*2);
  .term2string(L,"[1,2|T2]"); .print(L); .term2string(E,"1+2*3"); .print(E); .term2string(Bad,"not valid )("); .print(Bad); if (.atom(Bad)) { .print(atom) }; if (.term2string(abc,"abc")) { .print(same) }; .term2string(P,"{ +!g(1) <- a; b }"); .print(P);
  .term2string(V,"p & not q"); .print(V); .stopMAS.
