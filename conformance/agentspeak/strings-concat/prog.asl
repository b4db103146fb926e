!go.
+!go <- .concat("a","b",S1); .print(S1); .concat("n",1,2.5,f(x),[a,"b"],'Q q',S2); .print(S2); .concat(a,b,S3); .print(S3); if (.string(S3)) { .print(string) };
  .concat("a",X,S4); .print(S4); .concat("x","y","xy"); .concat("",S5); .print("[",S5,"]"); if (.concat("a","b","zz")) { .print(bad) } else { .print(no) }; .concat([1],[2,3],[],[4],L); .print(L);
  .concat([],L2); .print(L2); .concat([a],[b|T],L3); .print(L3); .concat("~",~p(1)[z],S6); .print(S6); .concat("1",2,12); .stopMAS.
